#include "models/checkpoint/run_settings.h"

#include <optional>
#include <set>
#include <utility>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string ValueOf(const std::map<std::string, double, std::less<>>& constants,
                    const std::string& name) {
  const auto found = constants.find(name);
  return found == constants.end() ? "none" : StrCat(found->second);
}

}  // namespace

std::vector<Difference> Differences(const RunSettings& was, const RunSettings& now) {
  std::vector<Difference> differences;
  if (const std::optional<Difference> data = FirstDifference(was.data, now.data)) {
    differences.push_back(*data);
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
    differences.push_back({StrCat(name, " of the optimizer"), ValueOf(was.optimizer, name),
                           ValueOf(now.optimizer, name)});
  }
  for (const auto& [what, member] :
       {std::pair("norm that gradients are clipped to", &RunSettings::clip_norm),
        std::pair("label smoothing", &RunSettings::label_smoothing)}) {
    if (was.*member == now.*member) continue;
    differences.push_back({what, StrCat(was.*member), StrCat(now.*member)});
  }
  return differences;
}

}  // namespace dtnn
