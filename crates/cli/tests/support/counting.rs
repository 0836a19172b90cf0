//! Memory that a piece of code takes, counted by the allocator of the whole process: one test a process.
#![allow(unsafe_code)] // an allocator is an unsafe trait

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is held, the most that was, and how often something was taken.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static TIMES: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
    TIMES.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        took(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What some code took from the allocator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// Most bytes at a time, beyond those held before.
    pub(crate) most: usize,
    /// How often: the work of code that makes many small things.
    #[allow(dead_code)] // of use to those who count work
    pub(crate) times: usize,
}

pub(crate) fn counted<R>(run: impl FnOnce() -> R) -> (R, Used) {
    let (before, times) = (HELD.load(Ordering::Relaxed), TIMES.load(Ordering::Relaxed));
    MOST.store(before, Ordering::Relaxed);
    let result = run();
    let most = MOST.load(Ordering::Relaxed) - before;
    (result, Used { most, times: TIMES.load(Ordering::Relaxed) - times })
}
