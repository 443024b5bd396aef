//! Identity, signing and trust are what git itself makes of its configuration, wherever that comes from.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::environment::{TestEnvironment, executable};

/// What every configuration begins with: programs that sign with a line that says who they are, and which key they were given.
fn beginning(programs: &Path) -> String {
    let program = |name: &str| programs.join(name).display().to_string();
    format!(
        "[core]\n\tfsync = none\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[gpg]\n\tprogram = {}\n[gpg \"x509\"]\n\tprogram = {}\n\
         [gpg \"ssh\"]\n\tprogram = {}\n\tdefaultKeyCommand = {} 'the usual' key\n",
        program("gpg"),
        program("gpgsm"),
        program("ssh-keygen"),
        program("a-key"),
    )
}

const GPG: &str = "#!/bin/sh
cat > /dev/null
echo '[GNUPG:] SIG_CREATED D 1 8 00 1 AAAA' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\n%s %s\\n-----END PGP SIGNATURE-----\\n' \"${0##*/}\" \"$3\"
";

const SSH: &str = "#!/bin/sh
while [ $# -gt 1 ]; do [ \"$1\" = -f ] && key=$2; shift; done
[ -f \"$key\" ] && key=$(cat \"$key\")
printf -- '-----BEGIN SSH SIGNATURE-----\\n%s %s\\n-----END SSH SIGNATURE-----\\n' \"${0##*/}\" \"$key\" > \"$1.sig\"
";

const KEY: &str = "#!/bin/sh
[ $# = 2 ] || { echo \"$# words\" >&2; exit 1; }
echo \"ssh-ed25519 AAAA $1 and $2\"
echo 'ssh-ed25519 AAAA another'
";

/// Draws numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Draws settings, each with a value that says which place it is from.
    fn settings(&mut self, place: &str) -> Vec<(String, String)> {
        let mut drawn = Vec::new();
        for _ in 0..=self.below(3) {
            let (name, value) = match self.below(14) {
                0 => ("user.name", format!("{place} ")),
                1 => ("user.email", format!("{place}@example.org")),
                2 => ("author.name", format!("Author {place}")),
                3 => ("author.email", format!("author-{place}@example.org")),
                4 => ("committer.email", format!("committer-{place}@example.org")),
                5 => ("committer.name", self.one(&["", "Committer"]).to_owned()),
                6 | 7 => ("commit.gpgSign", self.one(&["true", "yes", "1", "no", ""]).to_owned()),
                8 | 9 => ("gpg.format", self.one(&["ssh", "ssh", "openpgp", "x509"]).to_owned()),
                10 => ("user.signingKey", format!("ssh-ed25519 AAAA {place}")),
                11 => ("user.signingKey", self.one(&["key::any KEY", "~/key", "0xABC"]).to_owned()),
                12 => ("gpg.openpgp.program", "gpg2".to_owned()),
                _ => ("user.useConfigOnly", "true".to_owned()),
            };
            drawn.push((name.to_owned(), value));
        }
        drawn
    }
}

/// Where settings come from, and what changes which of them count.
const FEATURES: [&str; 18] = [
    "include",
    "nested include",
    "gitdir",
    "gitdir/i",
    "onbranch",
    "hasconfig",
    "linked home",
    "linked path",
    "GIT_CONFIG_COUNT",
    "git -c",
    "GIT_CONFIG_GLOBAL",
    "XDG_CONFIG_HOME",
    "config.worktree",
    "the repository's own",
    "GIT_AUTHOR_*",
    "EMAIL",
    "default key",
    "another owner",
];

/// One drawn configuration, in an environment of its own.
struct Scene {
    env: TestEnvironment,
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl Scene {
    fn new(usual: &TestEnvironment, features: &BTreeSet<usize>, draw: &mut Draw) -> Self {
        let env = usual.copy();
        let folder = env.path("");
        let mut scene = Self { env, folder, variables: Vec::new() };
        let programs = scene.env.home().join("programs");
        fs::create_dir(&programs).unwrap();
        let path = std::env::var("PATH").unwrap();
        scene.variable("PATH", format!("{}:{path}", programs.display()));
        for (name, script) in
            [("gpg", GPG), ("gpg2", GPG), ("gpgsm", GPG), ("ssh-keygen", SSH), ("a-key", KEY)]
        {
            fs::write(programs.join(name), script).unwrap();
            executable(&programs.join(name));
        }
        fs::write(scene.env.home().join("key"), "a key in a file").unwrap();
        fs::write(scene.env.home().join(".gitconfig"), beginning(&programs)).unwrap();
        let begins = if draw.below(8) == 0 {
            vec![("user.useConfigOnly", "true")]
        } else {
            vec![("user.name", "Ada"), ("user.email", "ada@example.org")]
        };
        for (name, value) in begins {
            scene.set("home/.gitconfig", name, value);
        }
        if draw.below(2) == 0 {
            scene.set("home/.gitconfig", "commit.gpgSign", "true");
        }
        for feature in features {
            scene.add(FEATURES[*feature], draw);
        }
        scene
    }

    /// Sets a value in a file, relative to what is above the project.
    fn set(&self, file: &str, name: &str, value: &str) {
        let file = self.env.path("..").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        self.env.git(&["config", "--file", file.to_str().unwrap(), "--add", name, value]);
    }

    fn fill(&self, file: &str, draw: &mut Draw) {
        for (name, value) in draw.settings(file.rsplit('/').next().unwrap().trim_start_matches('.'))
        {
            self.set(file, &name, &value);
        }
    }

    fn variable(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.push((name.into(), value.into()));
    }

    fn add(&mut self, feature: &str, draw: &mut Draw) {
        let include_if = |condition: &str| format!("includeIf.{condition}.path");
        let global = "home/.gitconfig";
        match feature {
            "include" => {
                self.fill("home/included", draw);
                self.set(global, "include.path", "included");
            }
            "nested include" => {
                self.fill("home/below/inner", draw);
                self.set("home/below/outer", "include.path", "inner");
                self.fill("home/below/outer", draw);
                self.set("project/.git/config", "include.path", "~/below/outer");
            }
            "gitdir" => {
                self.fill("home/by-gitdir", draw);
                let pattern = draw.one(&["~/../project/", "project/.git", "~/elsewhere/", "./**"]);
                self.set(global, &include_if(&format!("gitdir:{pattern}")), "by-gitdir");
            }
            "gitdir/i" => {
                self.fill("home/by-gitdir-i", draw);
                let pattern = draw.one(&["**/PROJECT/.git", "PROJECT/", "**/other/"]);
                self.set(global, &include_if(&format!("gitdir/i:{pattern}")), "~/by-gitdir-i");
            }
            "onbranch" => {
                self.fill("home/by-branch", draw);
                let branch = draw.one(&["main", "ma*", "work/"]);
                self.set(global, &include_if(&format!("onbranch:{branch}")), "by-branch");
            }
            "hasconfig" => {
                self.fill("home/by-remote", draw);
                let url = draw.one(&["https://git.example.com/**", "https://*.example.net/**"]);
                self.set(
                    global,
                    &include_if(&format!("hasconfig:remote.*.url:{url}")),
                    "by-remote",
                );
                self.set(
                    "project/.git/config",
                    "remote.origin.url",
                    "https://git.example.com/team/x",
                );
            }
            "linked home" => {
                let link = self.env.path("../linked-home");
                symlink(self.env.home(), &link).unwrap();
                self.variable("HOME", link.to_str().unwrap());
                self.fill("home/by-home", draw);
                self.set(global, &include_if("gitdir:~/../project/"), "by-home");
            }
            "linked path" => {
                let link = self.env.path("../linked-project");
                symlink(self.env.path(""), &link).unwrap();
                self.fill("home/by-link", draw);
                let condition = format!("gitdir:{}/", link.display());
                self.set(global, &include_if(&condition), "by-link");
                self.variable("PWD", link.to_str().unwrap());
                self.folder = link;
            }
            "GIT_CONFIG_COUNT" => {
                let settings = draw.settings("COUNT");
                self.variable("GIT_CONFIG_COUNT", settings.len().to_string());
                for (number, (name, value)) in settings.into_iter().enumerate() {
                    self.variable(format!("GIT_CONFIG_KEY_{number}"), name);
                    self.variable(format!("GIT_CONFIG_VALUE_{number}"), value);
                }
            }
            "git -c" => {
                let settings = draw.settings("parameter").into_iter();
                let words = settings.map(|(name, value)| format!("'{name}'='{value}'"));
                self.variable("GIT_CONFIG_PARAMETERS", words.collect::<Vec<_>>().join(" "));
            }
            "GIT_CONFIG_GLOBAL" => {
                let named = self.env.path("../named");
                fs::copy(self.env.home().join(".gitconfig"), &named).unwrap();
                self.fill("named", draw);
                self.variable("GIT_CONFIG_GLOBAL", named.to_str().unwrap());
            }
            "XDG_CONFIG_HOME" => {
                self.fill("home/xdg/git/config", draw);
                self.variable("XDG_CONFIG_HOME", self.env.home().join("xdg").to_str().unwrap());
            }
            "config.worktree" => {
                self.fill("project/.git/config.worktree", draw);
                self.set("project/.git/config", "extensions.worktreeConfig", "true");
            }
            "the repository's own" => self.fill("project/.git/config", draw),
            "GIT_AUTHOR_*" => {
                let name = draw.one(&["Named, Jr.", "Named,", "\"Named\"", "a <b>", ""]);
                self.variable(draw.one(&["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]), name);
                self.variable("GIT_COMMITTER_EMAIL", "variable@example.org");
            }
            "EMAIL" => self.variable("EMAIL", draw.one(&["mail@example.org", ""])),
            "default key" => {
                self.set("project/.git/config", "gpg.format", "ssh");
                let program = self.env.home().join("programs/a-key").display().to_string();
                let arguments = draw.one(&[
                    "'one two' \"three\"",
                    "\\'a b\\ c",
                    "a \"b'\" ",
                    "\"a\\\"b\" c",
                    "only-one",
                    "'open",
                ]);
                let command = format!("{program} {arguments}");
                self.set("project/.git/config", "gpg.ssh.defaultKeyCommand", &command);
            }
            "another owner" => {
                let root = self.env.path("").display().to_string();
                let root = root.trim_end_matches('/');
                let above = format!("{}/*", Path::new(root).parent().unwrap().display());
                let with_slash = format!("{root}/");
                let forms =
                    [root, root, "*", &above, &with_slash, "~/../project", "/elsewhere", ""];
                let file = draw.one(&[
                    "home/.gitconfig",
                    "home/.gitconfig",
                    "home/included",
                    "project/.git/config",
                ]);
                for _ in 0..=draw.below(3) {
                    self.set(file, "safe.directory", draw.one(&forms));
                }
                for path in [self.env.path(""), self.env.path(".git")] {
                    // Only root can give files away; others compare the rest.
                    let _ = chown(path, Some(65_534), None);
                }
            }
            other => unreachable!("{other}"),
        }
    }

    fn run(&self, mut command: Command) -> (bool, String) {
        command.current_dir(&self.folder).envs(self.variables.iter().map(|(k, v)| (k, v)));
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Returns who made the last commit, and its signature, from the commit's own bytes.
    fn last(&self) -> Vec<String> {
        let mut command = self.env.command("git");
        command.args(["-c", "safe.directory=*", "cat-file", "commit", "HEAD"]);
        let raw = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let header = raw.split("\n\n").next().unwrap().lines();
        let header =
            header.filter(|line| !line.starts_with("tree ") && !line.starts_with("parent "));
        // The time differs.
        header.map(|line| line.split_inclusive('>').next().unwrap().to_owned()).collect()
    }
}

/// Draws sets of features until each pair occurred, and each feature ten times.
fn draws(draw: &mut Draw) -> Vec<BTreeSet<usize>> {
    let all = 0..FEATURES.len();
    let mut pairs: BTreeSet<(usize, usize)> =
        all.clone().flat_map(|a| (a + 1..FEATURES.len()).map(move |b| (a, b))).collect();
    let mut sets: Vec<BTreeSet<usize>> = Vec::new();
    let times =
        |sets: &[BTreeSet<usize>], of: usize| sets.iter().filter(|set| set.contains(&of)).count();
    while !pairs.is_empty() || all.clone().any(|feature| times(&sets, feature) < 10) {
        let rare = all.clone().min_by_key(|feature| times(&sets, *feature)).unwrap();
        let mut set = match pairs.first() {
            Some((a, b)) => BTreeSet::from([*a, *b]),
            None => BTreeSet::from([rare]),
        };
        while set.len() < 8 {
            // Those that bring most new pairs, and one by chance.
            let new = |of: usize| {
                set.iter()
                    .filter(|other| pairs.contains(&(of.min(**other), of.max(**other))))
                    .count()
            };
            let best =
                all.clone().filter(|of| !set.contains(of)).max_by_key(|of| new(*of)).unwrap();
            set.insert(if set.len() < 7 { best } else { draw.below(FEATURES.len()) });
        }
        pairs.retain(|(a, b)| !(set.contains(a) && set.contains(b)));
        sets.push(set);
    }
    sets
}

#[test]
fn commits_have_the_author_and_signature_that_git_would_use() {
    let seed = std::env::var("AOF_CONFIGURATION_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        u64::from(std::process::id()) << 32
            | u64::from(jiff::Timestamp::now().subsec_nanosecond().unsigned_abs())
    });
    println!("AOF_CONFIGURATION_SEED={seed}");
    let draw = &mut Draw(seed | 1);
    let usual = TestEnvironment::new();
    let (mut made, mut signed, mut refused, mut drawn) = (0, 0, 0, 0);
    let mut sets = draws(draw);
    loop {
        let Some(features) = sets.pop() else {
            // Few sets lead to a signature: draw until there are enough of each kind.
            if made >= 8 && signed >= 4 && refused >= 2 {
                break;
            }
            assert!(drawn < 500, "{made} made, {signed} signed, {refused} refused");
            sets = draws(draw);
            continue;
        };
        drawn += 1;
        let scene = Scene::new(&usual, &features, draw);
        let names: Vec<&str> = features.iter().map(|feature| FEATURES[*feature]).collect();
        let before = scene.last();
        let mut commit = scene.env.command("git");
        commit.args(["commit", "--quiet", "--allow-empty", "--message", "by git"]);
        let (is_made, by_git) = scene.run(commit);
        let expected = if is_made { scene.last() } else { before };
        let (is_new, by_aof) = scene.run(scene.env.aof_command(&["new", "A"]));
        let home = scene.env.home();
        let printed = || {
            let config = fs::read_to_string(home.join(".gitconfig")).unwrap();
            let own = scene.env.read(".git/config");
            format!(
                "{names:?} {:?}\n{config}\n{own}\ngit: {by_git} {expected:?}\naof: {by_aof}",
                scene.variables
            )
        };
        if is_made && expected.iter().any(|line| line.ends_with("<>")) {
            // Git may commit without an address. To aof people are known by it.
            assert!(by_aof.contains("`user.email` is not set"), "{}", printed());
            continue;
        }
        assert_eq!(is_made, is_new, "{}", printed());
        assert_eq!(expected, scene.last(), "{}", printed());
        made += usize::from(is_made);
        refused += usize::from(!is_made);
        signed += usize::from(is_made && expected.iter().any(|line| line.starts_with("gpgsig")));
    }
}

/// Has the programs of that environment find a `git` that notes what it is asked, and returns where.
fn noted(env: &TestEnvironment) -> (String, PathBuf) {
    let (folder, notes) = (env.home().join("noting"), env.home().join("notes"));
    let path = std::env::var("PATH").unwrap();
    fs::create_dir(&folder).unwrap();
    let script =
        format!("#!/bin/sh\necho \"$*\" >> {}\nPATH={path} exec git \"$@\"\n", notes.display());
    fs::write(folder.join("git"), script).unwrap();
    executable(&folder.join("git"));
    (format!("{}:{path}", folder.display()), notes)
}

#[test]
fn git_is_asked_once_and_only_if_necessary() {
    let env = TestEnvironment::new();
    let (path, notes) = noted(&env);
    let asked = |args: &[&str]| {
        let _ = fs::remove_file(&notes);
        let mut command = env.aof_command(args);
        let _ = env
            .run({
                command.env("PATH", &path);
                command
            })
            .success();
        fs::read_to_string(&notes).unwrap_or_default()
    };
    assert_eq!(asked(&["new", "A"]), "");
    fs::write(env.home().join("more"), "[user]\n\tname = Included\n").unwrap();
    env.git(&["config", "--global", "include.path", "more"]);
    assert_eq!(asked(&["new", "B"]), "config --list --null --show-origin\n");
    assert_eq!(env.git(&["log", "-1", "--format=%cn %an"]), "Included Included\n");
}

#[test]
fn without_an_installed_git_only_includes_and_the_environment_are_out_of_reach() {
    let env = TestEnvironment::new();
    let without_git = |variables: &[(&str, &str)]| {
        let mut command = env.aof_command(&["new", "A"]);
        command.env("PATH", env.home()).envs(variables.iter().copied());
        env.run(command)
    };
    let _ = without_git(&[]).success();
    fs::write(env.home().join("named"), "[user]\n\tname = N\n\temail = n@example.org\n").unwrap();
    let named = env.home().join("named");
    let _ = without_git(&[("GIT_CONFIG_GLOBAL", named.to_str().unwrap())]).success();
    assert_eq!(env.git(&["log", "-1", "--format=%cn"]), "N\n");
    let head = env.head();
    let variables =
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "")];
    let refused = without_git(&variables).code(1);
    assert!(
        refused.stderr.contains("git itself must read it, and that failed: `git` is not installed"),
        "{refused}"
    );
    env.git(&["config", "includeIf.onbranch:other.path", "more"]);
    assert_eq!(without_git(&[]).code(1).stderr, refused.stderr);
    assert_eq!(env.head(), head);
}

#[test]
fn a_new_project_has_the_author_of_its_folders_git_configuration() {
    let env = TestEnvironment::without_repository();
    fs::write(env.home().join("work"), "[user]\n\tname = Work\n\temail = work@example.org\n")
        .unwrap();
    let by_folder = format!("includeIf.gitdir:{}/.path", env.path("new").display());
    env.git(&["config", "--global", &by_folder, "work"]);
    let _ = env.aof(&["init", "new"]).success();
    assert_eq!(
        env.git(&["-C", "new", "log", "-1", "--format=%an %ae %cn"]),
        "Work work@example.org Work\n"
    );
    assert!(env.read("new/org.yaml").contains("work@example.org"));
    // A user that git does not know is refused as before, and nothing stays.
    for name in ["user.name", "user.email"] {
        env.git(&["config", "--global", "--unset", name]);
    }
    let _ = env.aof(&["init", "other"]).code(1);
    assert!(!env.exists("other/.git") && !env.exists("other/project.yaml"));
}
