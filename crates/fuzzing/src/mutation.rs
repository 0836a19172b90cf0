//! Mutations of inputs: of bytes, and of the numbers and words of JSON, which a change of bytes
//! would nearly always make unreadable.

use serde_json::Value;

/// Numbers at which something may go wrong.
const EDGES: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    0.999_999_999_999_999_9,
    1e-9,
    1e-22,
    1e-100,
    2.3e-308,
    5e-324,
    1e6,
    1e9,
    16_777_216.0,
    4_294_967_296.0,
    1_099_511_627_776.0,
    1_125_899_906_842_624.0,
    9_223_372_036_854_775_808.0,
    1e100,
    1e300,
    f64::MAX,
];

/// A source of mutated inputs, the same for the same seed.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.state >> 11) * n as u128) >> 53) as usize
    }

    /// One of the seeds, changed in some places.
    ///
    /// # Panics
    /// When there are no seeds.
    pub fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let chosen = self.below(seeds.len());
        let mut data = seeds[chosen].clone();
        if let Ok(mut value) = serde_json::from_slice::<Value>(&data)
            && self.below(8) != 0
        {
            for _ in 0..=self.below(3) {
                let leaves = leaves(&value);
                if leaves.is_empty() {
                    break;
                }
                let path = &leaves[self.below(leaves.len())];
                if let Some(leaf) = value.pointer_mut(path) {
                    self.change(leaf);
                }
            }
            return value.to_string().into_bytes();
        }
        for _ in 0..=self.below(4) {
            if data.is_empty() {
                return data;
            }
            let at = self.below(data.len());
            match self.below(6) {
                0 => data[at] = self.below(256) as u8,
                1 => data[at] ^= 1 << self.below(8),
                2 => data.truncate(at + 1),
                3 => {
                    let word = [0u32, 1, 0x7fff_ffff, 0xffff_ffff, 0x1000][self.below(5)];
                    let end = data.len().min(at + 4);
                    data[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
                }
                4 => {
                    let edge = EDGES[self.below(EDGES.len())].to_le_bytes();
                    let end = data.len().min(at + 8);
                    data[at..end].copy_from_slice(&edge[..end - at]);
                }
                _ => {
                    let from = self.below(data.len());
                    let part = data[from..data.len().min(from + 16)].to_vec();
                    data.splice(at..at, part);
                }
            }
        }
        data
    }

    fn change(&mut self, leaf: &mut Value) {
        *leaf = match leaf {
            Value::Number(number) => {
                let old = number.as_f64().unwrap_or(0.0);
                let edge = EDGES[self.below(EDGES.len())];
                let new = match self.below(5) {
                    0 => edge,
                    1 => old * 2.0,
                    2 => old * 0.5,
                    3 => old * (1.0 + 1e-9),
                    _ => old * 10f64.powi(self.below(25) as i32 - 12),
                };
                if number.is_u64() && (0.0..1.9e19).contains(&new) {
                    Value::from(new as u64)
                } else {
                    Value::from(new)
                }
            }
            Value::String(_) if self.below(2) == 0 => Value::Null,
            Value::Null => Value::from(1),
            ref other => (*other).clone(),
        };
    }
}

/// Pointers to the leaves.
fn leaves(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| {
        let inner = leaves(value).into_iter();
        inner.map(move |rest| format!("/{key}{rest}")).collect::<Vec<_>>()
    };
    match value {
        Value::Object(map) => {
            let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
            map.iter().flat_map(|(k, v)| below(escaped(k), v)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(i, v)| below(i.to_string(), v)).collect()
        }
        _ => vec![String::new()],
    }
}
