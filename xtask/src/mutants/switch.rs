//! All mutants of a file in one text: each stands behind its number, and a test process chooses one.

use super::results::Outcome;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// What ends a line that stands for one mutant, behind its number.
const MARK: &str = "/*mutant*/";

/// One change, as cargo-mutants lists it.
#[derive(Debug, Clone)]
pub(super) struct Mutant {
    pub(super) name: String,
    pub(super) file: String,
    genre: String,
    /// What is replaced: bytes of the file.
    span: Range<usize>,
    replacement: String,
    returns: String,
}

impl Mutant {
    /// Of a line of the list, and the text of its file.
    pub(super) fn new(listed: &Value, text: &str) -> Outcome<Self> {
        let of = |value: &Value, key: &str| -> Outcome<String> {
            Ok(value[key].as_str().ok_or_else(|| format!("a mutant without {key}"))?.to_owned())
        };
        let place = |end: &str| -> Outcome<usize> {
            let at = |key: &str| listed["span"][end][key].as_u64().map(|n| n as usize);
            let (Some(line), Some(column)) = (at("line"), at("column")) else {
                return Err("a mutant without a place".into());
            };
            let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
            let within = text[before..].chars().take(column - 1).map(char::len_utf8);
            Ok(before + within.sum::<usize>())
        };
        Ok(Self {
            name: of(listed, "name")?,
            file: of(listed, "file")?,
            genre: of(listed, "genre")?,
            span: place("start")?..place("end")?,
            replacement: of(listed, "replacement")?,
            returns: of(&listed["function"], "return_type").unwrap_or_default(),
        })
    }

    /// The text with this change alone.
    pub(super) fn alone(&self, text: &str) -> String {
        let (before, after) = (&text[..self.span.start], &text[self.span.end..]);
        format!("{before}{}{after}", self.replacement)
    }
}

/// Where a choice between changes can be made, and of what parts.
#[derive(Debug, Clone)]
enum Site {
    /// The beginning of a function, whose body this is.
    Body,
    /// Both sides of an operator.
    Binary(Range<usize>, Range<usize>),
    /// What an operator stands before.
    Unary(Range<usize>),
    /// The end of a pattern, and its guard.
    Arm(usize, Option<Range<usize>>),
    Guard,
}

#[derive(Debug)]
struct Node<'a> {
    whole: Range<usize>,
    site: Site,
    mutants: Vec<(usize, &'a Mutant)>,
}

/// All sites of a file, by the genre and the place that the list names; no constants, which are computed before a process can choose.
#[derive(Default)]
struct Sites {
    found: HashMap<(&'static str, usize), (Range<usize>, Site)>,
    constant: usize,
}

impl Sites {
    fn within_constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.constant += 1;
        visit(self);
        self.constant -= 1;
    }

    fn add(&mut self, genre: &'static str, at: usize, whole: Range<usize>, site: Site) {
        if self.constant == 0 {
            self.found.insert((genre, at), (whole, site));
        }
    }
}

fn bytes(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// Whether a condition binds names: `let` may not stand within parentheses.
fn binds(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Sites {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        if !binds(&node.left) && !binds(&node.right) {
            let site = Site::Binary(bytes(&node.left), bytes(&node.right));
            self.add("BinaryOperator", bytes(&node.op).start, bytes(node), site);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let site = Site::Unary(bytes(&node.expr));
        self.add("UnaryOperator", bytes(&node.op).start, bytes(node), site);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let (pattern, guard) = match &node.pat {
            syn::Pat::Guard(both) => (bytes(&both.pat), Some(bytes(&both.guard))),
            pattern => (bytes(pattern), None),
        };
        if let Some(guard) = guard.clone() {
            self.add("MatchArmGuard", guard.start, guard, Site::Guard);
        }
        let site = Site::Arm(pattern.end, guard);
        self.add("MatchArm", bytes(node).start, bytes(node), site);
        visit::visit_arm(self, node);
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block, |sites| visit::visit_item_fn(sites, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block, |sites| visit::visit_impl_item_fn(sites, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        match &node.default {
            Some(block) => {
                self.function(&node.sig, block, |s| visit::visit_trait_item_fn(s, node));
            }
            None => visit::visit_trait_item_fn(self, node),
        }
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.within_constant(|sites| visit::visit_item_const(sites, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.within_constant(|sites| visit::visit_impl_item_const(sites, node));
    }

    fn visit_trait_item_const(&mut self, node: &'ast syn::TraitItemConst) {
        self.within_constant(|sites| visit::visit_trait_item_const(sites, node));
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.within_constant(|sites| visit::visit_item_static(sites, node));
    }

    fn visit_expr_const(&mut self, node: &'ast syn::ExprConst) {
        self.within_constant(|sites| visit::visit_expr_const(sites, node));
    }

    fn visit_type(&mut self, node: &'ast syn::Type) {
        self.within_constant(|sites| visit::visit_type(sites, node));
    }

    fn visit_generic_argument(&mut self, node: &'ast syn::GenericArgument) {
        self.within_constant(|sites| visit::visit_generic_argument(sites, node));
    }

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        self.within_constant(|sites| sites.visit_expr(&node.len));
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.within_constant(|sites| visit::visit_variant(sites, node));
    }
}

impl Sites {
    fn function(
        &mut self,
        sig: &syn::Signature,
        block: &syn::Block,
        inside: impl FnOnce(&mut Self),
    ) {
        let outer = std::mem::take(&mut self.constant);
        self.constant = usize::from(sig.constness.is_some());
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
            let whole = bytes(first).start..bytes(last).end;
            self.add("FnValue", whole.start, whole, Site::Body);
        }
        inside(self);
        self.constant = outer;
    }
}

/// A text in which each of these mutants can be chosen by its number.
pub(super) struct Switched {
    pub(super) text: String,
    /// The mutants on each line, from the first.
    lines: Vec<Vec<usize>>,
    /// Numbers of those that have no place in it.
    pub(super) left: Vec<usize>,
}

impl Switched {
    /// The mutants behind these lines, counted from one: those that stand on them (true), or else the nearest above and below.
    pub(super) fn behind(&self, lines: Range<usize>) -> (Vec<usize>, bool) {
        let there = lines.start - 1..lines.end.min(self.lines.len() + 1) - 1;
        let on: Vec<usize> = self.lines[there].iter().flatten().copied().collect();
        if !on.is_empty() {
            return (on, true);
        }
        let near = |line: &usize| self.lines[*line].first().copied();
        let above = (0..lines.start).rev().take(12).find_map(|line| near(&line));
        let below = (lines.start..self.lines.len()).take(12).find_map(|line| near(&line));
        (above.into_iter().chain(below).collect(), false)
    }
}

/// Puts mutants of one file, each under its number, behind `switch`, the path of a function that says whether a number is chosen.
pub(super) fn switched(
    text: &str,
    mutants: &[(usize, &Mutant)],
    switch: &str,
) -> Outcome<Switched> {
    let mut sites = Sites::default();
    sites.visit_file(&syn::parse_file(text)?);
    let mut nodes: BTreeMap<(usize, usize, u8), Node> = BTreeMap::new();
    let mut left = Vec::new();
    for &(number, mutant) in mutants {
        let found = sites.found.get(&(&*mutant.genre, mutant.span.start));
        // What a body is replaced with must be of its type, which the name of a trait does not say.
        let typed = mutant.genre != "FnValue" || !mutant.returns.contains("impl ");
        let Some((whole, site)) = found.filter(|_| typed).cloned() else {
            left.push(number);
            continue;
        };
        let rank = match site {
            Site::Body | Site::Arm(..) => 0,
            Site::Guard => 1,
            _ => 2,
        };
        nodes
            .entry((whole.start, usize::MAX - whole.end, rank))
            .or_insert(Node { whole, site, mutants: Vec::new() })
            .mutants
            .push((number, mutant));
    }
    let writer = Writer { text, switch, nodes: nodes.into_values().collect() };
    let text = writer.range(0..text.len(), 0)?;
    let numbers = |line: &str| {
        let before = line.split(MARK).collect::<Vec<_>>();
        let ends = before[..before.len() - 1].iter();
        ends.filter_map(|before| before.rsplit(' ').next()?.parse().ok()).collect()
    };
    Ok(Switched { lines: text.lines().map(numbers).collect(), text, left })
}

struct Writer<'a> {
    text: &'a str,
    switch: &'a str,
    /// Outer ones before those within.
    nodes: Vec<Node<'a>>,
}

impl Writer<'_> {
    /// This part of the text, with the nodes from this one on.
    fn range(&self, part: Range<usize>, from: usize) -> Outcome<String> {
        let (mut written, mut at) = (String::new(), part.start);
        for (index, node) in self.nodes.iter().enumerate().skip(from) {
            if node.whole.start < at {
                continue;
            }
            if node.whole.end > part.end {
                break;
            }
            written += &self.text[at..node.whole.start];
            written += &self.node(node, index + 1)?;
            at = node.whole.end;
        }
        Ok(written + &self.text[at..part.end])
    }

    /// Each of the mutants' texts behind its number, and what there is without one.
    fn choice(
        &self,
        mutants: &[(usize, &Mutant)],
        of: impl Fn(&str) -> String,
        else_: &str,
    ) -> Outcome<String> {
        let mut text = String::new();
        for (number, mutant) in mutants {
            let (switch, broken) = (self.switch, of(&mutant.replacement));
            write!(text, "if {switch}({number}) {{\n{broken} // {number}{MARK}\n}} else ")?;
        }
        Ok(text + &format!("{{ {else_} }}"))
    }

    fn node(&self, node: &Node, next: usize) -> Outcome<String> {
        let inner = |part: &Range<usize>| self.range(part.clone(), next);
        let (whole, mutants) = (&node.whole, &node.mutants[..]);
        match &node.site {
            Site::Body => {
                let mut text = String::new();
                for (number, mutant) in mutants {
                    let (switch, value) = (self.switch, &mutant.replacement);
                    writeln!(
                        text,
                        "if {switch}({number}) {{\nreturn {value}; // {number}{MARK}\n}}"
                    )?;
                }
                Ok(text + &inner(whole)?)
            }
            Site::Guard => {
                let choice = self.choice(mutants, str::to_owned, &inner(whole)?)?;
                Ok(format!("({choice})"))
            }
            Site::Arm(pattern, guard) => {
                let (number, _) = mutants[0];
                let before = inner(&(whole.start..*pattern))?;
                let condition = format!("\n!{}({number}) // {number}{MARK}\n", self.switch);
                let (condition, end) = match guard {
                    Some(guard) => (format!("{condition} && ({})", inner(guard)?), guard.end),
                    None => (condition, *pattern),
                };
                Ok(format!("{before} if {condition}{}", inner(&(end..whole.end))?))
            }
            Site::Unary(operand) => {
                let operator = &self.text[whole.start..operand.start];
                let value = inner(operand)?;
                let kept = format!("{operator} value_");
                let choice = self.choice(mutants, |_| "value_".to_owned(), &kept)?;
                Ok(format!("(match ({value}) {{ value_ => {choice} }})"))
            }
            Site::Binary(left, right) => {
                let (l, r) = (inner(left)?, inner(right)?);
                let operator = self.text[mutants[0].1.span.clone()].to_owned();
                let with = |operator: &str| format!("left_ {operator} right_");
                match operator.as_str() {
                    "&&" | "||" => {
                        let (number, _) = mutants[0];
                        let goes_on = if operator == "&&" { "!=" } else { "==" };
                        Ok(format!(
                            "({{ let left_: bool = {l}; if\nleft_ {goes_on} {}({number}) // {number}{MARK}\n{{ {r} }} else {{ left_ }} }})",
                            self.switch
                        ))
                    }
                    "==" | "!=" | "<" | "<=" | ">" | ">=" => {
                        let choice = self.choice(mutants, with, &with(&operator))?;
                        Ok(format!("(match (&({l}), &({r})) {{ (left_, right_) => {choice} }})"))
                    }
                    _ if operator.ends_with('=') => {
                        let with = |operator: &str| format!("*left_ {operator} right_;");
                        let choice = self.choice(mutants, with, &with(&operator))?;
                        Ok(format!("{{ let right_ = {r}; let left_ = &mut {l}; {choice} }}"))
                    }
                    _ => {
                        let choice = self.choice(mutants, with, &with(&operator))?;
                        Ok(format!("(match ({l}, {r}) {{ (left_, right_) => {choice} }})"))
                    }
                }
            }
        }
    }
}

/// The module behind the switch: a process is told a number, or else the name of a file in which it says which it came by.
pub(super) fn module(count: usize) -> String {
    format!(
        r#"
#[allow(missing_docs, unreachable_pub)]
pub mod switched_mutants {{
    use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering::Relaxed}};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    static SEEN: [AtomicBool; {count}] = [const {{ AtomicBool::new(false) }}; {count}];
    #[inline(always)]
    pub fn on(number: u32) -> bool {{
        let chosen = CHOSEN.load(Relaxed);
        if chosen < u32::MAX - 1 {{ chosen == number }} else {{ asked(number) }}
    }}
    #[cold]
    #[inline(never)]
    fn asked(number: u32) -> bool {{
        if CHOSEN.load(Relaxed) == u32::MAX {{
            let told = std::env::var("MUTANT_CHOSEN").ok().and_then(|told| told.parse().ok());
            CHOSEN.store(told.unwrap_or(u32::MAX - 1), Relaxed);
        }}
        if CHOSEN.load(Relaxed) == u32::MAX - 1 && !SEEN[number as usize].swap(true, Relaxed) {{
            if let Some(name) = std::env::var_os("MUTANTS_SEEN") {{
                use std::io::Write;
                let file = std::fs::OpenOptions::new().append(true).create(true).open(name);
                file.and_then(|mut file| file.write_all(format!("{{number}}\n").as_bytes())).expect("a file of mutants");
            }}
        }}
        CHOSEN.load(Relaxed) == number
    }}
}}
"#
    )
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
