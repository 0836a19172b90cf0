//! What a crate defines to store its releases, and what follows from it.

use super::reader::stated;
use super::{AnyCertificate, CertificateClass, Kind, Opened, Summary, Trailer, Writer, open, read};
use crate::certificate::{ClassOfCertificate, Statement};
use crate::error::{Error, Result};
use crate::output::Destination;
use crate::release::Release;
use std::io::Write;
use std::path::Path;

/// A published value that release files can hold. For authors of mechanisms.
pub trait Payload: Sized {
    /// What can go wrong in its crate.
    type Error: From<Error>;

    /// The kinds that hold it under a class of certificate, the default first; none when no
    /// release of that class exists.
    fn kinds(class: CertificateClass) -> &'static [Kind];

    /// Rows and entries of a row.
    fn shape(&self) -> (usize, usize);

    /// Digest of the public parameters that make releases comparable.
    fn fingerprint(&self) -> String;

    /// Public parameters, as JSON: all that is not in the payload.
    ///
    /// # Errors
    /// When they cannot be written.
    fn parameters(&self) -> Result<String, Self::Error>;

    /// The kind of file that holds it when no other is asked for: the first of [`Payload::kinds`], where it is not
    /// of one kind alone.
    fn kind(&self, class: CertificateClass) -> Option<Kind> {
        Self::kinds(class).first().copied()
    }

    /// As [`Payload::parameters`] for a file of this kind.
    ///
    /// # Errors
    /// As [`Payload::parameters`], and for a kind that cannot hold it.
    fn parameters_in(&self, _kind: Kind) -> Result<String, Self::Error> {
        self.parameters()
    }

    /// Checks that a certificate's statement is about this value, before anything is written: whatever
    /// the value says of itself (noise law, shape, seeds) must be what the certificate states,
    /// because a reader believes the certificate.
    ///
    /// # Errors
    /// [`Error::File`] naming what differs.
    fn check_statement(&self, _statement: &Statement) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes the numbers, in the form of the writer's kind.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<(), Self::Error>;

    /// Reads it back; checks payload, parameters, shape, fingerprint and certificate against each
    /// other.
    ///
    /// # Errors
    /// [`Error::File`] naming the part that does not hold.
    fn read(opened: &Opened<'_>) -> Result<Self, Self::Error>;
}

/// The default kind of a release.
fn kind_of<T: Payload, C: ClassOfCertificate>(release: &Release<T, C>) -> Result<Kind> {
    release.payload().kind(C::CLASS).ok_or_else(|| {
        Error::file("kind", format!("no file holds this release with a certificate: {}", C::CLASS))
    })
}

fn trailer<T: Payload, C: ClassOfCertificate>(
    release: &Release<T, C>,
    kind: Kind,
) -> Result<Trailer, T::Error> {
    let payload = release.payload();
    let certificate: AnyCertificate = release.certificate().clone().into();
    payload.check_statement(certificate.statement())?;
    kind.check_theorem(&certificate)?;
    Ok(Trailer::new(
        payload.shape(),
        payload.fingerprint(),
        &payload.parameters_in(kind)?,
        certificate,
    )?)
}

/// The bytes of a release file, in the default kind of the release.
///
/// # Errors
/// [`Error::File`] when no file holds such a release, or when its certificate was written for other
/// bytes of payload than these.
pub fn encode<T: Payload, C: ClassOfCertificate>(
    release: &Release<T, C>,
) -> Result<Vec<u8>, T::Error> {
    encode_as(release, kind_of(release)?)
}

/// As [`encode`], in another kind that holds the release.
///
/// # Errors
/// As [`encode`].
pub fn encode_as<T: Payload, C: ClassOfCertificate>(
    release: &Release<T, C>,
    kind: Kind,
) -> Result<Vec<u8>, T::Error> {
    check_kind::<T, C>(kind)?;
    let trailer = trailer(release, kind)?;
    let mut out = Writer::begin(Vec::new(), kind)?;
    release.payload().write(&mut out)?;
    Ok(out.end_with(trailer, release.ids())?.0)
}

/// What a file of this release would say of itself, and its payload, which is not hashed: there is no such file.
pub(crate) fn parted<T: Payload, C: ClassOfCertificate>(
    release: &Release<T, C>,
) -> Result<(Summary, Vec<u8>), T::Error> {
    let kind = kind_of(release)?;
    let summary = stated(kind, trailer(release, kind)?.written(None))?;
    let mut out = Writer::of_payload(kind)?;
    release.payload().write(&mut out)?;
    Ok((summary, out.into_payload()))
}

/// Writes a release to a path or an [`Output`](crate::output::Output), all or nothing.
///
/// # Errors
/// [`Error::Io`], and as [`encode`].
pub fn write<T: Payload, C: ClassOfCertificate>(
    to: impl Destination,
    release: &Release<T, C>,
) -> Result<(), T::Error> {
    write_as(to, release, kind_of(release)?)
}

/// As [`write()`], in another kind that holds the release.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_as<T: Payload, C: ClassOfCertificate>(
    to: impl Destination,
    release: &Release<T, C>,
    kind: Kind,
) -> Result<(), T::Error> {
    check_kind::<T, C>(kind)?;
    let trailer = trailer(release, kind)?;
    let mut out = Writer::create(to, kind)?;
    release.payload().write(&mut out)?;
    out.commit_with(trailer, release.ids())?;
    Ok(())
}

fn check_kind<T: Payload, C: ClassOfCertificate>(kind: Kind) -> Result<()> {
    if T::kinds(C::CLASS).contains(&kind) {
        return Ok(());
    }
    Err(Error::file("kind", format!("{} does not hold this release", kind.name())))
}

/// Reads a release from the bytes of a file; everything is checked. Arbitrary bytes give an error, never a
/// panic, and memory stays within a fixed multiple of their length.
///
/// # Errors
/// [`Error::File`] or [`Error::CertificateRejected`] naming the part that does not hold.
pub fn decode<T: Payload, C: ClassOfCertificate>(bytes: &[u8]) -> Result<Release<T, C>, T::Error> {
    let opened = open(bytes)?;
    opened.summary.expect(T::kinds(C::CLASS))?;
    let payload = T::read(&opened)?;
    let (Summary { certificate, .. }, ids) = (opened.summary, opened.ids);
    Ok(Release::certified(payload, C::from_any(certificate)?).named(ids))
}

/// As [`decode`] for a file.
///
/// # Errors
/// [`Error::Io`], and as [`decode`].
pub fn load<T: Payload, C: ClassOfCertificate>(path: &Path) -> Result<Release<T, C>, T::Error> {
    decode(&read(path)?)
}
