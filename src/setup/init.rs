//! Creates a project: its configuration and a first task, in one commit, perhaps on a branch of its own.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::template::{Founder, Template};
use crate::domain::{BranchName, Git, Timestamp};
use crate::files::config::configuration::{ORG_FILE, PROJECT_FILE, Source};
use crate::git::{BranchSource, CommitId, GitError, Head, Person, Repository};
use crate::history::merge_driver::{
    ATTRIBUTES, SetupPlan, attributes_after, install_here, is_as_committed, to_set_up,
};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::named_branch::remote_projects;
use crate::project::open::{CheckoutWait, FOLDER, check_out, check_out_new, home};
use crate::project::rule_files::compiled;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::layout::TASKS;
use crate::storage::{Paths, ProjectPath, StoreError, journal};
use crate::tasks::apply::{commit, commit_files};
use crate::tasks::create::{NewTask, first_id, new_from, plan_new_task};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::recovery::recover::{lock_recovered, recover_if_pending};
use crate::tasks::state::commit_message;
use crate::tasks::write::{PlainFile, Write};

/// The options of a new project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewProject {
    /// The folder; it is created if it is missing.
    pub folder: PathBuf,
    /// The template of the workflow.
    pub template: Template,
    /// The name; if `None`, that of the folder.
    pub name: Option<String>,
    /// The project's own branch, if it has one.
    pub branch: Option<BranchName>,
}

/// A project that was created, or would be.
pub(crate) struct CreatedProject {
    /// The folder.
    pub root: PathBuf,
    /// The name.
    pub name: String,
    /// The rules.
    pub rules: Rc<Rules>,
    /// The first task.
    pub first: Changed,
    /// The files of the commit.
    pub committed: Vec<ProjectPath>,
    /// The branch of the commit; `None` if the repository does not exist yet.
    pub branch: Option<String>,
    /// The pointer on the branch where people work, if the project is on a branch of its own.
    pub checkout: Option<BranchPointer>,
    /// True if the repository is new.
    pub new_repository: bool,
    /// True if `.gitattributes` was left alone because of uncommitted changes.
    pub attributes_held: bool,
    /// The settings in `.git`, which are not part of a commit.
    pub set_up: SetupPlan,
}

/// The commit on the branch where people work that names the project's branch.
pub(crate) struct BranchPointer {
    /// The folder.
    pub root: PathBuf,
    /// The branch.
    pub branch: String,
    /// The commit; `None` in a dry run.
    pub commit: Option<CommitId>,
    /// The files of the commit.
    pub committed: Vec<ProjectPath>,
}

/// Creates a project. `open` opens it, once its folder and a repository exist.
///
/// All refusals come before anything is written.
pub(crate) fn init(
    new: &NewProject,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, ProjectError>,
    dry_run: DryRun,
) -> Result<CreatedProject, ProjectError> {
    let now = Timestamp::from_second(now.as_second()).expect("a second of a time is a time");
    let repository = repository_around(&new.folder)?;
    let head = repository.as_ref().map(Repository::head).transpose();
    if dry_run == DryRun::No && journal::is_pending(&Paths::at(&new.folder)) {
        // An earlier `aof init` may have been interrupted.
        recover_if_pending(&open(&new.folder)?)?;
    }
    refuse_existing(&new.folder, repository.as_ref(), head.as_ref().ok().and_then(Option::as_ref))?;
    let author = match &repository {
        Some(repository) => {
            // A missing identity fails before anything is written.
            repository.identity()?;
            repository.author_identity()?
        }
        // An include may name another user for a repository in that folder.
        None if dry_run == DryRun::No && Repository::has_user_by_place()? => {
            make_folder(&new.folder)?;
            let made = Repository::init(&new.folder)?;
            let user = made.identity().and_then(|_| made.author_identity());
            user.inspect_err(|_| drop(std::fs::remove_dir_all(made.git_dir())))?
        }
        None => Repository::user()?,
    };
    let (mut created, mut write) = plan(new, &author, now)?;
    let commit_of_head = head.as_ref().ok().and_then(Option::as_ref).and_then(|head| head.commit);
    match attributes(&new.folder, repository.as_ref().zip(commit_of_head))? {
        Attributes::Added(attributes) => {
            created.committed.push(attributes.path.clone());
            write.plain_files.push(attributes);
        }
        Attributes::Held => created.attributes_held = true,
        Attributes::UpToDate => {}
    }
    created.new_repository = repository.is_none();
    created.set_up = to_set_up(repository.as_ref(), &new.folder)?;
    if dry_run == DryRun::Yes {
        created.branch = head?.map(|head| head.branch().to_owned());
        return Ok(created);
    }
    make_folder(&new.folder)?;
    if repository.is_none() {
        Repository::init(&new.folder)?;
    }
    let workspace = open(&new.folder)?;
    let head = workspace.head()?;
    let (lock, _) = lock_recovered(&workspace)?;
    refuse_existing(workspace.paths.root(), Some(&workspace.repository), Some(&head))?;
    install_here(&workspace)?;
    created.first.commit = commit(&workspace, &lock, &head, &[write])?.last().copied();
    created.branch = Some(head.branch().to_owned());
    workspace.paths.root().clone_into(&mut created.root);
    Ok(created)
}

/// Returns the new project in the form in which it is shown, and the files to write.
fn plan(
    new: &NewProject,
    author: &Person,
    now: Timestamp,
) -> Result<(CreatedProject, Write), ProjectError> {
    let name = new.name.clone().unwrap_or_else(|| folder_name(&new.folder));
    let founder = Founder::new(author.name(), author.email());
    let mut files = new.template.files(&name, &founder);
    if let Some(branch) = &new.branch {
        files.project.push_str(&format!(
            "\n# These tasks have a branch of their own.\ngit:\n  branch: {branch}\n"
        ));
    }
    let sources = [(PROJECT_FILE, files.project), (ORG_FILE, files.org)]
        .map(|(name, text)| Source { name: name.to_owned(), bytes: text.into_bytes() });
    let beside = sources.iter().map(|source| {
        Ok::<_, StoreError>(PlainFile {
            path: source.name.parse()?,
            before: None,
            bytes: source.bytes.clone(),
        })
    });
    let plain_files = beside.collect::<Result<Vec<PlainFile>, _>>()?;
    let (rules, _) = compiled(&sources).map_err(ProjectError::InvalidRules)?;
    let in_force = InForce { rules: Rc::new(rules), commit: None, remarks: Vec::new() };

    let project = &in_force.rules.project;
    let id = first_id(&Paths::at(&new.folder), project)?;
    let first_task = new.template.first_task(&id, &founder);
    let mut body = first_task.body;
    if new.branch.is_some() {
        body = body.replace("git log", &format!("git -C {FOLDER} log"));
    }
    let wanted = NewTask { body, ..NewTask::titled(first_task.title) };
    let task = new_from(&wanted, id, project.default_workflow.clone(), now);
    let (mut write, first) = plan_new_task(&in_force.rules, &task, &wanted.body, author, now)?;
    for version in &mut write.versions {
        version.message = commit_message::of_init(&first.after.task, new.template.as_str());
    }
    let committed = plain_files.iter().map(|file| &file.path).chain([&write.to]).cloned().collect();
    write.plain_files = plain_files;
    let root = new.folder.clone();
    let created = CreatedProject {
        root,
        name,
        rules: in_force.rules,
        first,
        committed,
        branch: None,
        checkout: None,
        new_repository: false,
        attributes_held: false,
        set_up: SetupPlan::default(),
    };
    Ok((created, write))
}

/// Returns the action on `.gitattributes`. Existing lines are kept, and a file with uncommitted changes is left alone.
fn attributes(
    folder: &Path,
    committed: Option<(&Repository, CommitId)>,
) -> Result<Attributes, ProjectError> {
    let standing = std::fs::read(folder.join(ATTRIBUTES)).ok();
    let is_committed = match committed.filter(|_| folder.is_dir()) {
        Some((_, commit)) => {
            // The folder may be in a nested repository.
            let repository = Repository::discover(folder)?;
            is_as_committed(
                &repository,
                standing.as_deref(),
                repository.read(commit, ATTRIBUTES)?.as_deref(),
            )
        }
        None => standing.is_none(),
    };
    Ok(match attributes_after(standing.as_deref()) {
        Some(bytes) if is_committed => {
            Attributes::Added(PlainFile { path: ATTRIBUTES.parse()?, before: standing, bytes })
        }
        Some(_) => Attributes::Held,
        None => Attributes::UpToDate,
    })
}

/// The action on `.gitattributes`.
enum Attributes {
    /// The file has the line for the merge driver.
    UpToDate,
    /// The line is added.
    Added(PlainFile),
    /// The file has uncommitted changes, and is left alone.
    Held,
}

/// Returns the repository that the folder is in, or would be in.
pub(crate) fn repository_around(folder: &Path) -> Result<Option<Repository>, ProjectError> {
    let standing = folder.ancestors().find(|folder| folder.is_dir());
    let standing =
        standing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match Repository::discover(standing) {
        Ok(repository) => Ok(Some(repository)),
        Err(GitError::NoRepository { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Fails if a project exists, in the folder or in HEAD.
fn refuse_existing(
    folder: &Path,
    repository: Option<&Repository>,
    head: Option<&Head>,
) -> Result<(), ProjectError> {
    let commit = head.and_then(|head| head.commit);
    for name in [PROJECT_FILE, ORG_FILE] {
        let standing = folder.join(name).symlink_metadata().is_ok();
        let committed = match (repository, commit) {
            (Some(repository), Some(commit)) if folder.is_dir() => {
                repository.blob_id(commit, name)?.is_some()
            }
            _ => false,
        };
        if standing || committed {
            return Err(ProjectError::ProjectExists { path: name.parse()? });
        }
    }
    Ok(())
}

/// Fails if a branch of a remote has the project of this clone. A folder below the top may get a project of its own, if that is asked for.
pub(crate) fn refuse_in_clone(folder: &Path, is_asked_for: bool) -> Result<(), ProjectError> {
    let Some(repository) = repository_around(folder)? else { return Ok(()) };
    let root = repository.worktree_root();
    if is_asked_for && std::path::absolute(folder).is_ok_and(|folder| folder != root) {
        return Ok(());
    }
    let found = remote_projects(&Repository::discover(root)?)?;
    let Some((name, git)) = found.first() else { return Ok(()) };
    let branch = git.branch.as_ref().expect("it names its branch");
    Err(unfit(
        "project_on_remote",
        format!("`{name}` has the project of this repository"),
        format!(
            "`aof status` checks it out, and every command works there; a project.yaml with `git: {{branch: {branch}}}` on each \
             branch of the code names it"
        ),
    ))
}

/// Returns true if a killed `aof init` left no more than `.aof/` here. First completes or reverts what was begun.
pub(crate) fn is_unfinished(workspace: &Workspace) -> Result<bool, ProjectError> {
    recover_if_pending(workspace)?;
    let (root, head) = (workspace.paths.root(), workspace.repository.head_for_reading()?);
    let has_files = |entries: std::fs::ReadDir| entries.count() > 0;
    Ok(refuse_existing(root, Some(&workspace.repository), Some(&head)).is_ok()
        && !std::fs::read_dir(root.join(TASKS)).is_ok_and(has_files))
}

fn make_folder(folder: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(folder).map_err(|cause| {
        // The nearest existing path is the cause: a file, or a folder without write permission.
        let path =
            folder.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(folder);
        StoreError::Io { doing: "make a folder at", path: path.to_owned(), cause }
    })
}

pub(crate) fn folder_name(folder: &Path) -> String {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    full.file_name()
        .map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Creates a project on a branch of its own, in an existing repository. The checked-out branch gets one commit, with a project.yaml
/// that names the project's branch.
pub(crate) fn init_on_branch(
    new: &NewProject,
    branch: &BranchName,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, ProjectError>,
    checkout_wait: &CheckoutWait,
    dry_run: DryRun,
) -> Result<CreatedProject, ProjectError> {
    let repository = repository_around(&new.folder)?.filter(|_| new.folder.is_dir());
    let Some(repository) = repository else {
        return Err(unfit(
            "no_repository_yet",
            "a branch of its own needs an existing repository".to_owned(),
            "create one with `git init` and a first commit, or leave `--branch` out".to_owned(),
        ));
    };
    let head = branch_of_code(&repository)?;
    if head.commit.is_none() {
        return Err(unfit(
            "no_commit_yet",
            format!("nothing is committed on `{}` yet", head.branch()),
            "commit something there first: it will name the project's branch".to_owned(),
        ));
    }
    refuse_existing(&new.folder, Some(&repository), Some(&head))?;
    let source = repository.branch_source(branch.as_str(), None)?;
    // A run that was interrupted after creating the branch is continued.
    let is_interrupted =
        matches!(source, Some(BranchSource::Here)) && has_only_first_commit(&repository, branch)?;
    if source.is_some() && !is_interrupted {
        return Err(unfit(
            "branch_exists",
            format!("there is a branch `{branch}` already"),
            format!(
                "name another; if a project lives on it, commit a project.yaml with `git: {{branch: {branch}}}` here, and every \
                 command finds it"
            ),
        ));
    }
    repository.identity()?;
    let around = Repository::discover(&new.folder)?;
    let home = home(&new.folder, &around);
    let inside = NewProject {
        folder: home.join(FOLDER),
        name: Some(new.name.clone().unwrap_or_else(|| folder_name(&new.folder))),
        branch: Some(branch.clone()),
        ..new.clone()
    };
    let path = PROJECT_FILE.parse::<ProjectPath>()?;
    let branch_pointer = |commit| {
        let branch = head.branch().to_owned();
        Some(BranchPointer {
            root: new.folder.clone(),
            branch,
            commit,
            committed: vec![path.clone()],
        })
    };
    if dry_run == DryRun::Yes {
        return Ok(CreatedProject {
            checkout: branch_pointer(None),
            ..init(&inside, now, open, dry_run)?
        });
    }
    if is_interrupted {
        check_out(&home, &repository, (branch, &Git::default()), checkout_wait)?;
    } else {
        check_out_new(&home, &repository, branch, &first_message(branch), checkout_wait)?;
    }
    let created = init(&inside, now, open, dry_run)?;
    let mut outside = open(&new.folder)?;
    outside.paths = Paths::of_checkout(outside.paths.root());
    let bytes = pointer_file(branch).into_bytes();
    let files = [PlainFile { path: path.clone(), before: None, bytes }];
    let message = format!("Tasks live on the branch {branch}");
    loop {
        let commit = commit_files(&outside, &outside.head()?, &files, &message)?;
        if commit.is_some() {
            return Ok(CreatedProject { checkout: branch_pointer(commit), ..created });
        }
        refuse_existing(&new.folder, Some(&outside.repository), Some(&outside.head()?))?;
    }
}

/// Returns the checked-out branch, which gets the commit that names the project's.
pub(crate) fn branch_of_code(repository: &Repository) -> Result<Head, ProjectError> {
    repository.head().map_err(|error| match error {
        GitError::Waiting { reason, is_lasting: true } => unfit(
            "detached_head",
            reason,
            "that branch gets a commit that names the branch of the tasks".to_owned(),
        ),
        error => error.into(),
    })
}

/// Returns the message of the branch's first commit, which is empty.
fn first_message(branch: &BranchName) -> String {
    format!("Begin {branch}: a branch for tasks")
}

/// Returns true if the branch has only the first commit of [`init_on_branch`].
fn has_only_first_commit(
    repository: &Repository,
    branch: &BranchName,
) -> Result<bool, ProjectError> {
    let Some(commit) = repository.commit_named(&format!("refs/heads/{branch}"))? else {
        return Ok(false);
    };
    let first = repository.log_entry(commit)?;
    let is_first = first.parents.is_empty() && first.message.trim_end() == first_message(branch);
    Ok(is_first && repository.changed_anywhere(commit)?.is_empty())
}

/// Returns the project.yaml for the other branches.
pub(crate) fn pointer_file(branch: &BranchName) -> String {
    format!(
        "# The tasks of this repository, and the rules that they follow, live on a branch of their own: every `aof` command works\n\
         # there. It is checked out in `.aof/branch`.\n\
         git:\n  branch: {branch}\n"
    )
}

pub(crate) fn unfit(code: &'static str, problem: String, fix: String) -> ProjectError {
    ProjectError::Unfit { code, problem, fix: fix.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn ada() -> Person {
        Person::new("Ada Lovelace", "ada@garden.example").unwrap()
    }

    fn noon() -> Timestamp {
        "2026-02-16T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn every_template_begins_with_a_task_at_its_first_gate() {
        for template in Template::ALL {
            let new = NewProject {
                folder: "/srv/garden".into(),
                template: *template,
                name: None,
                branch: None,
            };
            let (created, write) = plan(&new, &ada(), noon()).unwrap();
            assert_eq!(created.name, "garden");
            let task = &created.first.after.task;
            let first = &created.rules.project.workflows[0].gates[0];
            assert_eq!(task.gate.as_ref().map(|open| &open.current), Some(&first.id));
            assert!(created.first.after.body().contains(&format!("aof complete {}", task.id)));
            let committed: Vec<&str> = created.committed.iter().map(ProjectPath::as_str).collect();
            assert_eq!(committed, ["project.yaml", "org.yaml", &format!("tasks/{}.md", task.id)]);
            let message = &write.versions[0].message;
            assert!(
                message.contains("Aof-Event: created") && message.contains(template.as_str()),
                "{message}"
            );
        }
    }

    #[test]
    fn existing_files_are_never_overwritten() {
        for name in [PROJECT_FILE, ORG_FILE] {
            let home = TempDir::new().unwrap();
            refuse_existing(home.path(), None, None).unwrap();
            std::os::unix::fs::symlink("nowhere", home.path().join(name)).unwrap();
            let error = refuse_existing(home.path(), None, None).unwrap_err();
            assert!(
                matches!(&error, ProjectError::ProjectExists { path } if path.as_str() == name),
                "{error}"
            );
            assert_eq!(error.code(), "project_exists");
        }
    }
}
