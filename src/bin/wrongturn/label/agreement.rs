//! Measures the agreement of two readers.

use std::collections::BTreeMap;
use std::path::Path;

use wrongturn::stats::cohens_kappa;

use super::cells::{Labelled, labelled};
use crate::common::{Failure, print};

fn given(path: &Path) -> Result<BTreeMap<String, Labelled>, Failure> {
    Ok(labelled(path)?.into_iter().map(|label| (label.key.clone(), label)).collect())
}

/// Prints the agreement of two readers by detector, and the runs on which they disagree.
pub(crate) fn compare(first: &Path, second: &Path) -> Result<u8, Failure> {
    let (one, two) = (given(first)?, given(second)?);
    let mut answers: BTreeMap<&str, Vec<(bool, bool)>> = BTreeMap::new();
    let mut disagreements = String::new();
    let (mut both, only) = (0, one.keys().filter(|key| !two.contains_key(*key)).count());
    for (key, a) in &one {
        let Some(b) = two.get(key) else { continue };
        a.same_run(b).map_err(|what| format!("{}: {key}: {what}", second.display()))?;
        both += 1;
        let (yes, other) = (a.label, b.label);
        answers.entry(&a.detector).or_default().push((yes, other));
        if yes != other {
            disagreements +=
                &format!("{key}\n  first {yes}: {}\n  second {other}: {}\n", a.description, b.description);
        }
    }
    if both == 0 {
        return Err("the two readers have no run in common".into());
    }
    let mut text = String::new();
    for (detector, answers) in answers {
        let (n, agreed) = (answers.len(), answers.iter().filter(|(one, other)| one == other).count());
        text += &format!("{detector}: {agreed} of {n} alike");
        text += &match cohens_kappa(answers) {
            Some(kappa) => format!(
                ", Cohen's kappa {:.4}, 95% [{:.4}, {:.4}]\n",
                kappa.kappa,
                kappa.ci95.low.max(-1.0),
                kappa.ci95.high.min(1.0)
            ),
            None => ", Cohen's kappa undefined: both gave every run the same label\n".to_owned(),
        };
    }
    if only > 0 || two.len() > both {
        text += &format!(
            "labelled by only one reader: {only} by the first, {} by the second\n",
            two.len() - both
        );
    }
    print(&format!("{text}{disagreements}"))?;
    Ok(0)
}
