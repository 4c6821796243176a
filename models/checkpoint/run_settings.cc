#include "models/checkpoint/run_settings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string ValueOf(const std::map<std::string, double, std::less<>>& constants,
                    const std::string& name) {
  const auto found = constants.find(name);
  return found == constants.end() ? "none" : StrCat(found->second);
}

}  // namespace

std::vector<SettingChange> Changes(const RunSettings& was, const RunSettings& now) {
  std::vector<SettingChange> changes;
  const auto add = [&](Difference difference, OtherMetrics other_metrics = OtherMetrics::kNone) {
    changes.push_back({.difference = std::move(difference),
                       .may_change = MayChange::kAfterAnEpoch,
                       .other_metrics = other_metrics});
  };
  if (const std::optional<Difference> data = FirstDifference(was.data, now.data)) {
    add(*data, OtherMetrics::kAll);
  }
  std::set<std::string> names;
  for (const auto* constants : {&was.optimizer, &now.optimizer}) {
    for (const auto& [name, value] : *constants) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto before = was.optimizer.find(name), after = now.optimizer.find(name);
    if (before != was.optimizer.end() && after != now.optimizer.end() &&
        before->second == after->second) {
      continue;
    }
    add({StrCat(name, " of the optimizer"), ValueOf(was.optimizer, name),
         ValueOf(now.optimizer, name)});
  }
  if (was.clip_norm != now.clip_norm) {
    add({"norm that gradients are clipped to", StrCat(was.clip_norm), StrCat(now.clip_norm)});
  }
  if (was.label_smoothing != now.label_smoothing) {
    add({"label smoothing", StrCat(was.label_smoothing), StrCat(now.label_smoothing)},
        OtherMetrics::kAll);
  }
  for (const RunChoice& choice : now.choices) {
    const auto before = std::ranges::find(was.choices, choice.file_key(), &RunChoice::file_key);
    if (before == was.choices.end() || before->value == choice.value) continue;
    changes.push_back(
        {.difference = {choice.what, OneLine(before->value, 500), OneLine(choice.value, 500)},
         .may_change = choice.may_change,
         .other_metrics = choice.other_metrics,
         .of_scheduler = choice.of_scheduler});
  }
  return changes;
}

}  // namespace dtnn
