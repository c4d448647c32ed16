// SPDX-License-Identifier: GPL-2.0-only
//! stacks_rust - allocations of Rust's standard library below known call chains; see main.cpp.
//!
//!     stacks_rust alloc|burn

use std::arch::asm;
use std::time::{Duration, Instant};

/// std::hint::touch() is younger than Debian 12's compiler.
#[inline(always)]
fn touch<T>(value: T) -> T {
    unsafe { asm!("/* {0} */", in(reg) &value) };
    value
}

/// Behind a call: keeps it from becoming a jump.
#[inline(always)]
fn stay() {
    unsafe { asm!("") };
}

fn is_burning() -> bool {
    std::env::args().nth(1).as_deref() == Some("burn")
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_grab(size: usize, count: usize) {
    let burn = is_burning();
    let end = Instant::now() + Duration::from_millis(200);

    loop {
        for _ in 0..count {
            touch(Vec::<u8>::with_capacity(touch(size)));
        }
        if !burn || Instant::now() >= end {
            break;
        }
    }
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_b(size: usize, count: usize) {
    rust_grab(size, count);
    stay();
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_a() {
    rust_b(7401, 19);
    stay();
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_thread() {
    rust_b(7402, 23);
    stay();
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_boxes() {
    for _ in 0..5 {
        touch(Box::new([0u8; 7404]));
    }
    stay();
}

fn main() {
    rust_a();
    rust_boxes();
    std::thread::spawn(|| rust_thread()).join().unwrap();
}
