//! Reading artifacts: what files they become, and writing those.

use super::super::super::Setting;
use super::super::super::acting::Told;
use super::files::{Cutter, FileView, Measure, file, is_base64, write};
use super::name::Names;
use crate::failure::Failure;
use crate::file::NewFile;
use missive_commands::Exit;
use missive_commands::artifact::{Gathered, Hole, LastPiece, Part, gather_with};
use missive_commands::report::task::TaskArtifact;
use missive_log::Log;
use missive_log::event::facts::PayloadFacts;
use missive_projections::{Artifact, Task, Views};
use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

/// The most files that one artifact becomes, and that are written at once.
const FILES_MAX: usize = 10_000;

/// Where artifacts are read from.
pub(in crate::command) struct Reader<'a, L> {
    pub(super) log: &'a L,
    pub(super) views: &'a Views,
    pub(super) task: &'a Task,
    pub(super) told: Told<'a>,
    /// An answer with many artifacts is read once for all of them.
    last: Cell<LastPiece>,
}

impl<'a, L> Reader<'a, L> {
    pub(in crate::command) fn of(
        setting: &'a Setting<'a>,
        log: &'a L,
        views: &'a Views,
        task: &'a Task,
    ) -> Self {
        Self {
            log,
            views,
            task,
            told: Told::of(setting),
            last: Cell::default(),
        }
    }
}

/// An artifact and the files that it becomes.
#[derive(Clone, Debug, Serialize)]
pub(in crate::command) struct Planned {
    #[serde(flatten)]
    pub(super) artifact: TaskArtifact,
    pub(in crate::command) files: Vec<FileView>,
    /// Parts of no known kind, which become nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) unknown_parts: u64,
    /// Places that were redacted before anything of it was stored.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) redacted: u64,
    /// Pieces that are not there any more.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "holes")]
    pub(super) missing: Vec<Hole>,
    #[serde(skip)]
    pub(in crate::command) sources: Vec<PayloadFacts>,
    #[serde(skip)]
    pub(super) of: Artifact,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn holes<S: Serializer>(holes: &[Hole], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct One {
        sequence: u64,
        why: &'static str,
    }
    to.collect_seq(holes.iter().map(|hole| One {
        sequence: hole.seq.0,
        why: hole.why.name(),
    }))
}

impl Planned {
    /// What people must know before they trust the files.
    pub(in crate::command) fn doubts(&self) -> Vec<String> {
        let id = &self.artifact.artifact_id;
        let mut doubts = Vec::new();
        for hole in &self.missing {
            let (seq, why) = (hole.seq, hole.why.name());
            doubts.push(format!(
                "artifact {id} is not whole: its piece in event {seq} is {why}"
            ));
        }
        if self.artifact.headless {
            doubts.push(format!(
                "artifact {id} is not whole: its beginning never came"
            ));
        } else if !self.artifact.complete {
            doubts.push(format!(
                "artifact {id} may not be whole: its last piece did not come"
            ));
        }
        if self.redacted > 0 {
            let places = self.redacted;
            doubts.push(format!(
                "artifact {id} is not as it came: what looked like a secret was not stored (places: {places})"
            ));
        }
        match self.unknown_parts {
            0 => {}
            1 => doubts.push(format!(
                "1 part of artifact {id} is of no known kind and left out"
            )),
            parts => doubts.push(format!(
                "{parts} parts of artifact {id} are of no known kind and left out"
            )),
        }
        for file in self.files.iter().filter(|file| file.not_base64) {
            let path = &file.path;
            doubts.push(format!(
                "the bytes of {path} are no base64: they are kept as they came"
            ));
        }
        doubts
    }
}

impl<L: Log> Reader<'_, L> {
    /// Reads an artifact once, and says what files it becomes; their names differ from those in `names`.
    pub(in crate::command) async fn plan(
        &self,
        artifact: &Artifact,
        names: &mut Names,
    ) -> Result<Planned, Failure> {
        // A name is needed with the first part, and known with the first piece: it is read on its own.
        let called = self.read(artifact, |_| ControlFlow::Break(())).await?.name;
        let id = artifact.artifact.as_str();
        let mut cutter = Cutter::default();
        let mut files: Vec<FileView> = Vec::new();
        let mut measure = Measure::default();
        let mut unknown_parts = 0;
        let mut too_many = false;
        let gathered = self
            .read(artifact, |part| {
                let readable = is_base64(&part);
                let Some(begins) = cutter.begins(&part, readable) else {
                    unknown_parts += 1;
                    return ControlFlow::Continue(());
                };
                if begins {
                    settle(&mut files, &std::mem::take(&mut measure));
                    too_many = files.len() == FILES_MAX;
                    if too_many {
                        return ControlFlow::Break(());
                    }
                    files.push(file(&part, readable, (id, called.as_deref()), names));
                }
                // Counting takes everything.
                write(&part, readable, &mut measure).ok();
                ControlFlow::Continue(())
            })
            .await?;
        if too_many {
            return Err(too_many_files());
        }
        settle(&mut files, &measure);
        Ok(Planned {
            artifact: TaskArtifact {
                artifact_id: id.to_owned(),
                name: called,
                parts: artifact.parts,
                complete: artifact.complete,
                headless: artifact.headless,
            },
            files,
            unknown_parts,
            redacted: gathered.redacted,
            missing: gathered.holes,
            sources: gathered.sources,
            of: artifact.clone(),
        })
    }

    /// Writes the files of an artifact, each at its path, one after the other.
    pub(in crate::command) async fn write(
        &self,
        planned: &Planned,
        force: bool,
    ) -> Result<(), Failure> {
        let mut cutter = Cutter::default();
        let mut left = planned.files.iter();
        let mut current: Option<(NewFile, &Path)> = None;
        let mut failed = None;
        self.read(&planned.of, |part| {
            let readable = is_base64(&part);
            let step = cutter.begins(&part, readable).map_or(Ok(()), |begins| {
                if begins {
                    if let Some((file, _)) = current.take() {
                        file.finish()?;
                    }
                    let next = left.next().ok_or_else(changed)?;
                    let path = Path::new(&next.path);
                    current = Some((NewFile::begin(path, force)?, path));
                }
                let (file, path) = current.as_mut().ok_or_else(changed)?;
                write(&part, readable, file).map_err(|error| {
                    Failure::io(format!("{} cannot be written", path.display()), &error)
                })
            });
            match step {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
        .await?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        if left.next().is_some() {
            return Err(changed());
        }
        match current {
            Some((file, _)) => file.finish(),
            None => Ok(()),
        }
    }

    /// The bytes of an artifact that becomes one file.
    pub(super) async fn bytes(&self, planned: &Planned) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.read(&planned.of, |part| {
            // Memory takes everything.
            write(&part, is_base64(&part), &mut bytes).ok();
            ControlFlow::Continue(())
        })
        .await?;
        bytes.flush().ok();
        Ok(bytes)
    }

    pub(super) async fn read(
        &self,
        artifact: &Artifact,
        visit: impl FnMut(Part<'_>) -> ControlFlow<()>,
    ) -> Result<Gathered, Failure> {
        let mut last = self.last.take();
        let (log, views) = (self.log, self.views);
        let gathered = gather_with(&mut last, log, views, self.task, artifact, visit).await;
        self.last.set(last);
        gathered.map_err(|error| self.told.failure(error))
    }
}

/// Notes the length and the digest of the file that ends here.
fn settle(files: &mut [FileView], measure: &Measure) {
    if let Some(last) = files.last_mut() {
        last.bytes = measure.bytes;
        last.blake3 = measure.digest();
    }
}

fn changed() -> Failure {
    let what = "the artifact changed while it was written";
    Failure::new(Exit::Io, what)
        .detail("changed")
        .hint("run the command again")
}

pub(super) fn too_many_files() -> Failure {
    Failure::new(Exit::Data, format!("there are more than {FILES_MAX} files"))
        .detail("too_many_files")
}
