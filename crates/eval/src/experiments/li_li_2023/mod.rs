//! Li and Li (2023): differential privacy with random projections and sign random projections.

mod classify;
mod fig1;
mod fig10;
mod fig11;
mod fig11_photographs;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig2;
mod fig3;
mod fig4_5;
mod fig6;
mod fig7_9;
mod probe;
mod products;
mod projections;
mod retrieval;
mod sign_search;
mod standing;
mod uniform;
mod wide_text;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(fig1::STUDY),
        Box::new(fig2::STUDY),
        Box::new(fig3::STUDY),
        Box::new(products::STUDY),
        Box::new(products::ANGLES),
        Box::new(fig4_5::FIG4),
        Box::new(fig4_5::FIG5),
        Box::new(fig6::STUDY),
        Box::new(fig7_9::FIG7),
        Box::new(fig7_9::FIG9),
        Box::new(fig10::STUDY),
        Box::new(fig11::STUDY),
        Box::new(fig11_photographs::STUDY),
        Box::new(fig12::STUDY),
        Box::new(fig13::STUDY),
        Box::new(fig14::STUDY),
        Box::new(fig15::STUDY),
        Box::new(fig16::STUDY),
        Box::new(wide_text::STUDY),
    ]
}
