//! A process that forks: parent and child must not draw the same noise.
#![cfg(unix)]
#![allow(missing_docs, unsafe_code)]

use dp_core::NoiseRng;
use rand_core::Rng;
use std::io::Read;
use std::os::fd::AsRawFd;

const WORDS: usize = 4;

fn words(rng: &mut NoiseRng) -> [u64; WORDS] {
    let mut stream = rng.stream();
    core::array::from_fn(|_| stream.next_u64())
}

/// What a child draws from the generator that it inherits.
fn words_of_a_child(rng: &mut NoiseRng) -> [u64; WORDS] {
    let (mut from, to) = std::io::pipe().unwrap();
    // SAFETY: until it ends by `_exit` the child, of which there is one thread, takes no lock and allocates nothing: it
    // draws from a generator on the stack and writes 32 bytes of the stack to a pipe.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no process more");
    if child == 0 {
        let found = words(rng);
        // SAFETY: the pointer and the length are those of an array on the stack.
        unsafe {
            libc::write(to.as_raw_fd(), found.as_ptr().cast(), size_of_val(&found));
            libc::_exit(0);
        }
    }
    drop(to);
    let mut bytes = [0; 8 * WORDS];
    let read = from.read_exact(&mut bytes);
    let mut status = 0;
    // SAFETY: the status is written to a number on the stack; the child is ours, and nobody has waited for it.
    let ended = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((ended, status), (child, 0), "{read:?}");
    let words = bytes.as_chunks::<8>().0;
    core::array::from_fn(|i| u64::from_ne_bytes(words[i]))
}

/// One test, so that no other thread holds a lock when the process forks.
#[test]
fn a_child_never_draws_the_noise_of_its_parent() {
    // What tests repeat is inherited as it is: so would the noise be, without the look at the process.
    let known = || NoiseRng::deterministic_not_private(5);
    let mut rng = known();
    let of_the_child = words_of_a_child(&mut rng);
    assert_eq!((of_the_child, words(&mut rng)), (words(&mut known()), words(&mut known())));

    let mut rng = NoiseRng::from_os().unwrap();
    let mut seen = vec![words(&mut rng)];
    for _ in 0..3 {
        seen.push(words_of_a_child(&mut rng));
        seen.push(words_of_a_child(&mut rng));
        seen.push(words(&mut rng));
    }
    let mut all: Vec<u64> = seen.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    // Words that are equal by chance: of 40, fewer than one in 2^54 times.
    assert_eq!(all.len(), seen.len() * WORDS);
}
