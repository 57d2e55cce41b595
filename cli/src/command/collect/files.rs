//! What members said, as files of one folder.
//!
//! Each name begins with the member's rank and alias, so that a listing stands in the order of ranks and no
//! member can pass its file for another's.

use super::super::Setting;
use super::super::acting::Told;
use super::super::task::artifact::{
    FileView, Measure, Names, Planned, Reader, check_all, folder, harmless, path_text,
};
use super::shown::{HeardRow, MemberFile};
use crate::failure::Failure;
use crate::file::{NewFile, check};
use missive_commands::collect::Seat;
use missive_commands::collect::gather::Gathered;
use missive_log::Log;
use missive_projections::Views;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The files of a folder, before and after they are written.
pub(super) struct Folder {
    /// The folder.
    pub(super) path: String,
    /// One a member, in the order of ranks.
    members: Vec<OfMember>,
}

#[derive(Default)]
struct OfMember {
    /// The text that the report shows.
    text: Option<MemberFile>,
    artifacts: Vec<Planned>,
}

fn written(file: &FileView) -> MemberFile {
    MemberFile {
        path: file.path.clone(),
        kind: file.kind,
        artifact_id: Some(file.artifact_id.clone()),
        bytes: file.bytes,
        blake3: file.blake3.clone(),
    }
}

/// With what files are read: views that stand still.
type Reading<'a, L> = (&'a Setting<'a>, &'a L, &'a Views);

impl Folder {
    /// Says which files there will be. Nothing is written.
    pub(super) async fn plan<L: Log>(
        path: &Path,
        gathered: &Gathered,
        (setting, log, views): Reading<'_, L>,
    ) -> Result<Self, Failure> {
        let mut names = Names::default();
        let mut members = Vec::with_capacity(gathered.outputs.len());
        for output in &gathered.outputs {
            let mut place = |name: &str| -> Result<String, Failure> {
                let name = names.unique(&prefixed(&output.seat, name));
                path_text(&PathBuf::from(path).join(name))
            };
            let mut of = OfMember::default();
            if !output.text.is_empty() {
                let mut measure = Measure::default();
                // Counting takes everything.
                measure.write_all(output.text.as_bytes()).ok();
                of.text = Some(MemberFile {
                    path: place("output.md")?,
                    kind: "output",
                    artifact_id: None,
                    bytes: measure.bytes,
                    blake3: measure.digest(),
                });
            }
            if let Some(task) = &output.task {
                let reader = Reader::of(setting, log, views, task);
                let artifacts = views.artifacts(task);
                let artifacts =
                    artifacts.map_err(|error| Told::of(setting).failure(error.into()))?;
                for artifact in artifacts {
                    let mut planned = reader.plan(&artifact, &mut Names::default()).await?;
                    for file in &mut planned.files {
                        file.path = place(&file.path)?;
                    }
                    of.artifacts.push(planned);
                }
            }
            members.push(of);
        }
        Ok(Self {
            path: path_text(path)?,
            members,
        })
    }

    /// Makes the folder, and refuses where a file is in the way.
    pub(super) fn make(&self, force: bool) -> Result<(), Failure> {
        folder(Path::new(&self.path))?;
        for member in &self.members {
            if let Some(text) = &member.text {
                check(Path::new(&text.path), force)?;
            }
            check_all(&member.artifacts, force)?;
        }
        Ok(())
    }

    /// Notes the files with their members.
    pub(super) fn fill(&self, rows: &mut [HeardRow]) {
        for (row, member) in rows.iter_mut().zip(&self.members) {
            let artifacts = member.artifacts.iter().flat_map(|planned| &planned.files);
            let artifacts = artifacts.map(written);
            row.files = member.text.iter().cloned().chain(artifacts).collect();
        }
    }

    /// What people must know before they trust the files.
    pub(super) fn doubts(&self) -> Vec<String> {
        let artifacts = self.members.iter().flat_map(|member| &member.artifacts);
        artifacts.flat_map(Planned::doubts).collect()
    }

    /// Writes them, each whole or not at all.
    pub(super) async fn write<L: Log>(
        &self,
        gathered: &Gathered,
        (setting, log, views): Reading<'_, L>,
        force: bool,
    ) -> Result<(), Failure> {
        for (output, member) in gathered.outputs.iter().zip(&self.members) {
            if let Some(text) = &member.text {
                let path = Path::new(&text.path);
                let mut file = NewFile::begin(path, force)?;
                file.write_all(output.text.as_bytes()).map_err(|error| {
                    Failure::io(format!("{} cannot be written", path.display()), &error)
                })?;
                file.finish()?;
            }
            if let Some(task) = &output.task {
                let reader = Reader::of(setting, log, views, task);
                for planned in &member.artifacts {
                    reader.write(planned, force).await?;
                }
            }
        }
        Ok(())
    }
}

/// A name with the member in front of it.
fn prefixed(seat: &Seat, name: &str) -> String {
    let whole = format!("{}-{}-{name}", seat.rank(), seat.agent());
    harmless(&whole).unwrap_or_else(|| format!("member-{name}"))
}
