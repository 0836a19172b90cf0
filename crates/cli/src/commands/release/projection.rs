//! The options that say which projection comes before the noise.

use super::common::SeedOptions;
use crate::error::{Error, Result, no_effect};
use crate::input::{InputOptions, numbers};
use crate::same_file::refuse_released;
use clap::{Args, ValueEnum};
use readers::RowsFile;
use sketch::RowsView;
use sketch::projection::{Family, Groups, ProjectionSpec, PublicMatrix, PublicMoments, Sampling};
use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The law of the projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FamilyName {
    Gaussian,
    Rademacher,
    Achlioptas,
    VerySparse,
    SparseJl,
    HashedCopies,
    Srht,
    Oporp,
    CountSketch,
    Identity,
}

/// The groups of `HEIGHTxWIDTH/CELL`.
#[derive(Debug, Clone)]
struct PixelGrid(Groups);

impl core::str::FromStr for PixelGrid {
    type Err = String;

    fn from_str(text: &str) -> core::result::Result<Self, String> {
        let parts = text.split_once('/').and_then(|(size, cell)| {
            let (height, width) = size.split_once('x')?;
            Some((height.parse().ok()?, width.parse().ok()?, cell.parse().ok()?))
        });
        let Some((height, width, cell)) = parts else {
            return Err("expected HEIGHTxWIDTH/CELL in pixels, such as 28x28/4".into());
        };
        Groups::grid((height, width), cell).map(Self).map_err(|e| e.to_string())
    }
}

/// The groups that a file names, and the file.
#[derive(Debug, Clone)]
struct GroupsFile(Groups, PathBuf);

impl core::str::FromStr for GroupsFile {
    type Err = String;

    fn from_str(path: &str) -> core::result::Result<Self, String> {
        // 2^16 numbers of seven characters.
        const MOST: u64 = 1 << 20;
        let mut text = String::new();
        let read = File::open(path).and_then(|f| f.take(MOST).read_to_string(&mut text));
        read.map_err(|e| e.to_string())?;
        let groups = text.parse::<Groups>().map_err(|e| e.to_string())?;
        Ok(Self(groups, path.into()))
    }
}

/// Family and size of the projection.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct ProjectionOptions {
    /// The family of the projection; by default oporp, which is fast and has the least noise for
    /// single values.
    #[arg(long, value_enum)]
    family: Option<FamilyName>,
    /// Size k of a row of the release; `dps plan` names the best one. `sketch` with --squared-distance and `units` take the
    /// plan's where neither this nor a projection is named.
    #[arg(short, long)]
    k: Option<usize>,
    /// Pictures of HEIGHTxWIDTH pixels, summed in squares of CELL x CELL of them, in the place of random bins: 28x28/4.
    #[arg(long, value_name = "HEIGHTxWIDTH/CELL", conflicts_with_all = ["family", "k", "groups_from", "public", "matrix"])]
    grid: Option<PixelGrid>,
    /// A file of whole numbers, one a column: its group, from 1, and negative for a minus sign. Sums of these
    /// groups, in the place of random bins. They are published, so that they must not follow from the rows.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "k", "public", "matrix"])]
    groups_from: Option<GroupsFile>,
    /// A file of rows that are public, read as the input is (same columns): the projection is to the k directions, beside
    /// their mean, in which they vary most. It is published. Never rows that are released, nor rows chosen by them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "matrix"])]
    public: Option<PathBuf>,
    /// A file of one line for every column that enters, k numbers in [-1, 1] each: the projection. It is published, so
    /// that it must not follow from the rows.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "k"])]
    matrix: Option<PathBuf>,
    /// sparse-jl, hashed-copies: nonzero entries a row of the projection [default: 4].
    #[arg(long)]
    nonzeros: Option<u32>,
    /// Those of a release that rows are appended to.
    #[arg(skip)]
    given: OnceCell<Vec<ProjectionSpec>>,
}

impl ProjectionOptions {
    /// The projection of d columns.
    pub(crate) fn spec(
        &self,
        input: &InputOptions,
        d: usize,
        seed: &SeedOptions,
    ) -> Result<ProjectionSpec> {
        if let Some(given) = self.given(d, seed)? {
            return given.first().copied().ok_or_else(|| Error::usage("-k is missing"));
        }
        let groups_from = self.groups_from.as_ref().map(|file| &file.1);
        for (option, file) in [
            ("--public", self.public.as_ref()),
            ("--matrix", self.matrix.as_ref()),
            ("--groups-from", groups_from),
        ] {
            if let Some(file) = file {
                refuse_released(option, file, &input.input, &input.more)?;
            }
        }
        let given = match (self.groups(), &self.public, &self.matrix) {
            (Some(groups), ..) => Some((Family::Grouped { groups }, groups.k())),
            (_, Some(public), _) => Some((self.principal(input, public)?, self.k()?)),
            (.., Some(file)) => {
                let (k, entries) = numbers(&RowsFile::new(file))?;
                let matrix = PublicMatrix::new(entries.len() / k.max(1), k, &entries)?;
                Some((Family::Given { matrix }, k))
            }
            _ => None,
        };
        Ok(match given {
            None => ProjectionSpec::new(self.family()?, d, self.k()?, seed.get()?)?,
            Some((family, k)) => {
                let why = "--family sparse-jl and hashed-copies alone leave a choice";
                no_effect("--nonzeros", self.nonzeros.as_ref(), why)?;
                ProjectionSpec::new(family, d, k, seed.none("this projection is not drawn")?)?
            }
        })
    }

    /// From here on it is that of another release.
    pub(super) fn is_given(&self, projections: Vec<ProjectionSpec>) {
        let _ = self.given.set(projections);
    }

    /// The projections of the release that rows of d columns are appended to.
    pub(super) fn given(&self, d: usize, seed: &SeedOptions) -> Result<Option<&[ProjectionSpec]>> {
        let Some(given) = self.given.get() else { return Ok(None) };
        let why = "the projection is that of the release that rows are appended to";
        no_effect("--family", self.family.as_ref(), why)?;
        no_effect("--nonzeros", self.nonzeros.as_ref(), why)?;
        no_effect("--public", self.public.as_ref(), why)?;
        seed.none(why)?;
        match given.iter().find(|spec| spec.d() != d) {
            None => Ok(Some(given)),
            Some(spec) => Err(Error::usage(format!(
                "the new rows have {d} columns, those of the release that they are appended to have {}: --columns and --id \
                 choose the same ones",
                spec.d()
            ))),
        }
    }

    /// The directions of public rows.
    fn principal(&self, input: &InputOptions, public: &Path) -> Result<Family> {
        let (d, rows) = numbers(&input.beside(public)?)?;
        let moments = PublicMoments::of_sample(RowsView::f64(rows.len() / d.max(1), d, &rows)?)?;
        Ok(Family::Given { matrix: PublicMatrix::principal(&moments, self.k()?)? })
    }

    /// Whether it is that of another release.
    pub(super) fn is_appended(&self) -> bool {
        self.given.get().is_some()
    }

    /// Its size, where it is drawn or learned.
    pub(crate) fn k(&self) -> Result<usize> {
        let missing =
            "-k is missing: the size of a row of the release; `dps plan` names the best one";
        self.k.ok_or_else(|| Error::usage(missing))
    }

    /// Whether nothing of it is named.
    pub(crate) fn is_open(&self) -> bool {
        self.given.get().is_none()
            && self.is_drawn()
            && self.k.is_none()
            && self.family.is_none()
            && self.nonzeros.is_none()
    }

    /// A random projection to k numbers, of the default family.
    pub(crate) fn drawn(k: usize) -> Self {
        let (family, grid, groups_from) = (None, None, None);
        let (public, matrix, nonzeros) = (None, None, None);
        let given = OnceCell::new();
        Self { family, k: Some(k), grid, groups_from, public, matrix, nonzeros, given }
    }

    /// No projection of d numbers.
    pub(crate) fn none(d: usize) -> Self {
        Self { family: Some(FamilyName::Identity), ..Self::drawn(d) }
    }

    /// Whether a seed draws it.
    pub(crate) fn is_drawn(&self) -> bool {
        let given = |spec: &ProjectionSpec| {
            matches!(spec.family(), Family::Grouped { .. } | Family::Given { .. })
        };
        let of_release = self.given.get().is_some_and(|specs| specs.iter().any(given));
        !of_release && self.groups().is_none() && self.public.is_none() && self.matrix.is_none()
    }

    fn groups(&self) -> Option<Groups> {
        match (&self.grid, &self.groups_from) {
            (Some(grid), _) => Some(grid.0),
            (None, Some(file)) => Some(file.0),
            (None, None) => None,
        }
    }

    /// The size of the only family of averaged calibration.
    pub(crate) fn fresh(&self) -> Result<usize> {
        if self.given.get().is_some() {
            return Err(Error::usage(
                "--calibration averaged holds for a projection that nobody knew before; that of the release that rows are \
                 appended to is known: leave it out",
            ));
        }
        match self.family {
            None | Some(FamilyName::Gaussian) if self.is_drawn() => {}
            _ => {
                return Err(Error::usage(
                    "--calibration averaged is proven for --family gaussian only",
                ));
            }
        }
        no_effect("--nonzeros", self.nonzeros.as_ref(), "a Gaussian projection has no zeros")?;
        self.k()
    }

    /// The family that is drawn.
    pub(crate) fn family(&self) -> Result<Family> {
        let family = self.family.unwrap_or(FamilyName::Oporp);
        if !matches!(family, FamilyName::SparseJl | FamilyName::HashedCopies) {
            let why = "only --family sparse-jl and hashed-copies leave a choice";
            no_effect("--nonzeros", self.nonzeros.as_ref(), why)?;
        }
        let nonzeros = self.nonzeros.unwrap_or(4);
        Ok(match family {
            FamilyName::Gaussian => Family::Gaussian,
            FamilyName::Rademacher => Family::Rademacher,
            FamilyName::Achlioptas => Family::Achlioptas,
            FamilyName::VerySparse => Family::VerySparse,
            FamilyName::SparseJl => Family::SparseJl { nonzeros },
            FamilyName::HashedCopies => Family::HashedCopies { copies: nonzeros },
            FamilyName::Srht => Family::Srht { sampling: Sampling::WithoutReplacement },
            FamilyName::Oporp => Family::Oporp,
            FamilyName::CountSketch => Family::CountSketch,
            FamilyName::Identity => Family::Identity,
        })
    }
}
