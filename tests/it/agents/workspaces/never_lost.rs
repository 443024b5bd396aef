//! Random sequences of events in workspaces, each followed by `aof workspace prune`: no file of an agent is ever lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::worktrees::project;
use crate::support::environment::TestEnvironment;

const TASKS: usize = 40;
const ROUNDS: usize = 13;
/// The seed, unless `AOF_WORKSPACES_SEED` names another.
const SEED: u64 = 20_260_216;
/// Names that git quotes, reads as a pattern or an option, or does not tell apart everywhere.
const NAMES: [&str; 9] = [
    "new.txt",
    "a b.txt",
    "sub folder/x.txt",
    "-x",
    ":(top)y",
    "quo\"te.txt",
    "Öl.txt",
    "NEW.txt",
    // Set-up makes it.
    "made.txt",
];

/// The work at a task, and the contents that must not be lost, each by its path.
struct Work {
    id: String,
    folder: PathBuf,
    /// What is not committed; it goes with a folder that a person removes.
    loose: BTreeMap<String, String>,
    committed: BTreeMap<String, String>,
    /// What commits have that no branch reaches any more, and stashes.
    aside: BTreeSet<String>,
    told: Vec<String>,
}

struct World {
    env: TestEnvironment,
    seed: u64,
    draws: u64,
    written: usize,
    works: Vec<Work>,
}

impl World {
    fn below(&mut self, end: usize) -> usize {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        usize::try_from(self.draws >> 16).unwrap() % end
    }

    /// Runs git in a folder; it may refuse.
    fn git(&self, folder: &Path, args: &[&str]) -> bool {
        let mut command = self.env.command("git");
        command.arg("-C").arg(folder).args(args).output().unwrap().status.success()
    }

    fn begin(&mut self) -> Work {
        let id = self.env.new_task(&["One"]);
        let _ = self.env.aof(&["workspace", "path", &id]).success();
        let folder = self.env.path(&format!(".aof/work/{id}"));
        let (loose, committed) = (BTreeMap::new(), BTreeMap::new());
        Work { id, folder, loose, committed, aside: BTreeSet::new(), told: Vec::new() }
    }

    /// Writes a file with a content of its own.
    fn write(&mut self, work: &mut Work, name: &str) {
        self.written += 1;
        let content = format!("token-{}-", self.written);
        let path = work.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
        work.loose.insert(name.to_owned(), content);
    }

    fn commit(&self, work: &mut Work) {
        let all = ["commit", "-q", "--no-verify", "-m", "work"];
        if self.git(&work.folder, &["add", "-A"]) && self.git(&work.folder, &all) {
            let inner = |name: &String| name.starts_with("inner");
            let loose = std::mem::take(&mut work.loose);
            let (stay, go) = loose.into_iter().partition(|(name, _)| inner(name));
            work.loose = stay;
            work.committed.extend::<BTreeMap<_, _>>(go);
        }
    }

    /// Lets something happen to the work, and returns what.
    fn happen(&mut self, work: &mut Work) -> &'static str {
        let folder = work.folder.clone();
        if !folder.exists() {
            let _ = self.env.aof(&["workspace", "path", &work.id]);
            work.folder = self.env.path(&format!(".aof/work/{}", work.id));
            return "made again";
        }
        let branch = format!("aof-work/{}", work.id);
        match self.below(22) {
            0..=3 => {
                let name = NAMES[self.below(NAMES.len())];
                self.write(work, name);
                "untracked"
            }
            4 | 5 => {
                self.write(work, "code.txt");
                "dirty"
            }
            6..=9 => {
                self.commit(work);
                "commit"
            }
            10 => {
                self.git(&folder, &["add", "-A"]);
                "staged"
            }
            11 => {
                self.git(&folder, &["checkout", "-q", "--detach"]);
                "detached"
            }
            12 if work.loose.is_empty() => {
                let old = work.committed.remove("aside.txt");
                self.write(work, "aside.txt");
                self.commit(work);
                // A first commit cannot be taken back.
                if let Some(new) = work.committed.remove("aside.txt") {
                    self.git(&folder, &["reset", "-q", "--hard", "HEAD~1"]);
                    work.aside.insert(new);
                }
                work.committed.extend(old.map(|old| ("aside.txt".to_owned(), old)));
                "commit taken back"
            }
            13 => {
                self.git(&folder, &["checkout", "-q", &branch]);
                "back on its branch"
            }
            14 => {
                self.git(&folder, &["worktree", "lock", "."]);
                "locked"
            }
            15 => {
                self.git(&folder, &["worktree", "unlock", "."]);
                "unlocked"
            }
            16 | 17 => {
                let to = self.env.path(&format!("moved/{} {}", work.id, self.written));
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                let words = ["worktree", "move", ".", to.to_str().unwrap()];
                if self.below(2) == 0 {
                    fs::rename(&folder, &to).unwrap();
                } else if !self.git(&folder, &words) {
                    return "not moved";
                }
                work.folder = to;
                "moved"
            }
            18 => {
                fs::remove_dir_all(&folder).unwrap();
                work.loose.clear();
                "removed by hand"
            }
            19 if self.git(&folder, &["stash", "push", "-q", "-u"]) => {
                let inner = |name: &String| name.starts_with("inner");
                let loose = std::mem::take(&mut work.loose);
                let (stay, go): (BTreeMap<_, _>, _) =
                    loose.into_iter().partition(|(name, _)| inner(name));
                work.loose = stay;
                work.aside.extend(go.into_values());
                "stash"
            }
            20 => {
                self.git(&folder, &["init", "-q", "inner"]);
                self.write(work, "inner/x.txt");
                "a repository inside"
            }
            21 => {
                fs::write(folder.join("x.log"), "ignored\n").unwrap();
                "ignored"
            }
            _ => "nothing",
        }
    }

    /// The person brings the work to the base, in one of the usual ways.
    fn land(&mut self, work: &Work) -> &'static str {
        let branch = format!("aof-work/{}", work.id);
        let home = self.env.path("");
        let message = ["commit", "-q", "--no-verify", "-m", "landed"];
        let done = match self.below(3) {
            0 => self.git(&home, &["merge", "-q", "--no-edit", &branch]),
            1 => {
                self.git(&home, &["merge", "-q", "--squash", &branch]) && self.git(&home, &message)
            }
            _ => self.git(&home, &["cherry-pick", &format!("main..{branch}")]),
        };
        if !done {
            self.git(&home, &["cherry-pick", "--abort"]);
            self.git(&home, &["reset", "-q", "--merge"]);
        }
        if done { "landed" } else { "not landed" }
    }

    /// Returns the contents that git keeps: in the base, the branches, a worktree's own log, a stash, or a salvage reference.
    fn kept_by_git(&self) -> BTreeSet<String> {
        let script = "git rev-list --objects --exclude='refs/aof/work/*' --all --reflog | cut -d' ' -f1 | git cat-file --batch";
        let output = self.env.command("sh").args(["-c", script]).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter(|line| line.starts_with("token-"));
        lines.map(str::to_owned).collect()
    }

    fn check(&self, when: &str) {
        let kept = self.kept_by_git();
        for work in &self.works {
            let is_there = |name: &str, content: &str| {
                let text = fs::read_to_string(work.folder.join(name)).unwrap_or_default();
                text.trim_end() == content
            };
            let named = work.loose.iter().chain(&work.committed);
            let named = named.filter(|(name, content)| !is_there(name, content));
            for content in named.map(|(_, content)| content).chain(&work.aside) {
                assert!(
                    kept.contains(content),
                    "AOF_WORKSPACES_SEED={}: {when}: {content} of {} is lost: {:?}",
                    self.seed,
                    work.id,
                    work.told
                );
            }
        }
    }

    /// Lets git forget its records of folders whose tasks are gone, as it does after three months.
    fn forget_records(&self) {
        let branches = self.env.git(&["branch", "--list", "aof-work/*"]);
        let is_gone = |work: &&Work| !work.folder.exists() && !branches.contains(&work.id);
        for work in self.works.iter().filter(is_gone) {
            for record in fs::read_dir(self.env.path(".git/worktrees")).unwrap() {
                let record = record.unwrap().path();
                let link = fs::read_to_string(record.join("gitdir")).unwrap();
                if link.contains(&work.id) && !Path::new(link.trim()).exists() {
                    fs::remove_dir_all(record).unwrap();
                }
            }
        }
    }

    /// Returns all that is the person's: the configuration, the stashes, the files, and what is checked out.
    fn persons(&self) -> [String; 4] {
        [
            self.env.git(&["config", "--list", "--local"]),
            self.env.git(&["stash", "list"]),
            self.env.git(&["status", "--porcelain", "--branch"]),
            self.env.git(&["reflog", "show", "HEAD"]),
        ]
    }

    fn prune(&mut self) {
        let mut forced = vec!["workspace".to_owned(), "prune".to_owned(), "--force".to_owned()];
        for at in 0..self.works.len() {
            if self.below(5) == 0 {
                forced.push(self.works[at].id.clone());
                self.works[at].told.push("forced".to_owned());
            }
        }
        let before = self.persons();
        let _ = self.env.aof(&["workspace", "prune"]).success();
        self.forget_records();
        self.check("prune");
        if forced.len() > 3 {
            let forced: Vec<&str> = forced.iter().map(String::as_str).collect();
            let _ = self.env.aof(&forced).success();
            self.check("prune --force");
        }
        assert_eq!(before, self.persons());
    }
}

#[test]
fn no_file_is_lost_whatever_happens() {
    let seed = std::env::var("AOF_WORKSPACES_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    let settings = "workspaces: {copy: [.env], setup: [[sh, -c, 'echo sample > made.txt']]}";
    let env = project(settings, "{id: write, role: coders}", &[("coder", "true")]);
    env.write(".env", "KEY=1\n");
    env.git(&["config", "core.hooksPath", ".hooks"]);
    env.write("code.txt", "a person's edit\n");
    env.git(&["stash", "push", "--quiet"]);
    env.write("check.sh", "another edit\n");
    let mut world = World { env, seed, draws: seed | 1, written: 0, works: Vec::new() };
    let (mut removed, mut stayed) = (0, 0);
    for _ in 0..ROUNDS {
        while world.works.len() < TASKS {
            let work = world.begin();
            world.works.push(work);
        }
        let mut ended = vec!["cancel".to_owned(), "-m".to_owned(), "no".to_owned()];
        for mut work in std::mem::take(&mut world.works) {
            for _ in 0..=world.below(3) {
                let told = world.happen(&mut work);
                work.told.push(told.to_owned());
            }
            if world.below(2) == 0 {
                let told = world.land(&work);
                work.told.push(told.to_owned());
            }
            if world.below(3) > 0 && !work.told.contains(&"ended".to_owned()) {
                work.told.push("ended".to_owned());
                ended.push(work.id.clone());
            }
            world.works.push(work);
        }
        let ended: Vec<&str> = ended.iter().map(String::as_str).collect();
        let _ = world.env.aof(&ended).success();
        world.prune();
        // What happens to a folder of a task that is gone is not aof's; others go on.
        let branches = world.env.git(&["branch", "--list", "aof-work/*"]);
        let count = world.works.len();
        world.works.retain(|work| branches.contains(&work.id));
        removed += count - world.works.len();
        stayed += world.works.len();
    }
    assert!(removed > 50 && stayed > 100, "{removed} removed, {stayed} stayed");
}
