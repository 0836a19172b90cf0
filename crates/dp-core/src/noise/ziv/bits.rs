//! The random bits behind each sample: which words of the key stream are whose.

use crate::noise::rng::NoiseStream;
use crate::noise::rounded::Enclosure;
use dashu_int::UBig;
use zeroize::Zeroizing;

/// The words of numbered samples, each sample with a supply of its own.
pub(in crate::noise) trait Bits {
    /// Word `index` of sample `sample`.
    fn word(&self, sample: u64, index: u64) -> u64;
}

/// One stream of the generator. Word 0 of sample i is word i of the stream; word k > 0 is word
/// `(i + 1) 2^32 + k - 1`. A stream has `2^67` words, so samples `0..2^32 - 1` never share one, and what a sample
/// is does not depend on how many words another needed.
pub(in crate::noise) struct Source {
    stream: NoiseStream,
    head: Zeroizing<Vec<u64>>,
}

impl Source {
    /// The first words of the first `count` samples are drawn at once.
    ///
    /// # Panics
    /// When the stream was drawn from: its samples would repeat those words.
    pub(in crate::noise) fn new(stream: NoiseStream, count: usize) -> Self {
        assert!(stream.is_fresh(), "a stream that was drawn from");
        let mut head = Zeroizing::new(vec![0; count]);
        stream.words_at(0, &mut head);
        Self { stream, head }
    }

    /// The first words of `count` samples from `first` on, where they were drawn at once.
    pub(super) fn first_words(&self, first: u64, count: usize) -> Option<&[u64]> {
        self.head.get(first as usize..)?.get(..count)
    }
}

impl Bits for Source {
    fn word(&self, sample: u64, index: u64) -> u64 {
        debug_assert!(sample < (1 << 32) - 1 && index < 1 << 32);
        let place = match index {
            0 => match self.head.get(sample as usize) {
                Some(&word) => return word,
                None => sample,
            },
            _ => ((sample + 1) << 32) + index - 1,
        };
        let mut word = Zeroizing::new([0]);
        self.stream.words_at(place, &mut *word);
        word[0]
    }
}

/// The uniform in (0, 1) whose binary digits are those of the sample's words, without the `skip` lowest of
/// the first word, in fixed point with `bits` bits.
pub(in crate::noise) fn uniform(
    source: &impl Bits,
    sample: u64,
    skip: usize,
    bits: usize,
) -> Enclosure {
    let mut value = Zeroizing::new(UBig::from(source.word(sample, 0) >> skip));
    let mut known = 64 - skip;
    for index in 1.. {
        if known >= bits {
            break;
        }
        *value <<= 64;
        *value += source.word(sample, index);
        known += 64;
    }
    let low = &*value >> (known - bits);
    Enclosure { high: &low + 1u8, low }
}
