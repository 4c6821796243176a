#include "models/checkpoint/run_identity.h"

#include <algorithm>
#include <optional>

#include "tensor/text/number.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Older versions may have written a number in another form.
bool Same(const std::string& was, const std::string& now) {
  if (was == now) return true;
  const std::optional<double> before = NumberIn<double>(was), after = NumberIn<double>(now);
  return before && after && *before == *after;
}

}  // namespace

std::string ConstantOfOptimizer(std::string_view name) { return StrCat(name, " of the optimizer"); }

const IdentityMember* RunIdentity::Find(std::string_view file_key) const {
  const auto found = std::ranges::find(members, file_key, &IdentityMember::file_key);
  return found == members.end() ? nullptr : &*found;
}

bool KnowsAll(const RunIdentity& was, const RunIdentity& now) {
  const auto is_constant = [](const IdentityMember& member) {
    return member.file_key().ends_with(ConstantOfOptimizer(""));
  };
  const bool has_constants = std::ranges::any_of(was.members, is_constant);
  return std::ranges::all_of(now.members, [&](const IdentityMember& member) {
    // A run has these only with that scheduler, that optimizer, with a decay, or with an average.
    return !member.of_scheduler.empty() || (is_constant(member) && has_constants) ||
           member.file_key() == ConstantOfOptimizer("decay of vectors") ||
           member.file_key() == ConstantOfOptimizer("average decay") ||
           was.Find(member.file_key()) != nullptr;
  });
}

std::vector<IdentityChange> Compare(const RunIdentity& was, const RunIdentity& now) {
  std::vector<IdentityChange> changes;
  if (const std::optional<Difference> data = FirstDifference(was.data, now.data)) {
    changes.push_back({.difference = *data,
                       .may_change = MayChange::kAfterAnEpoch,
                       .other_metrics = OtherMetrics::kAll});
  }
  for (const IdentityMember& member : now.members) {
    const IdentityMember* const before = was.Find(member.file_key());
    if (before == nullptr || Same(before->value, member.value)) continue;
    changes.push_back(
        {.difference = {member.what, OneLine(before->value, 500), OneLine(member.value, 500)},
         .may_change = member.may_change,
         .other_metrics = member.other_metrics,
         .of_scheduler = member.of_scheduler});
  }
  return changes;
}

}  // namespace dtnn
