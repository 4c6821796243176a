#include "comm/federation/aggregator/choice/criterion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn::federation {
namespace {

std::optional<double> FiniteNumber(std::string_view text) {
  const std::optional<double> number = NumberIn<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace

absl::StatusOr<Criterion::Condition> Criterion::ParseCondition(std::string_view text) {
  // The longer one first.
  constexpr std::array<std::pair<std::string_view, Compare>, 6> kSigns = {
      {{">=", Compare::kAtLeast},
       {"<=", Compare::kAtMost},
       {"!=", Compare::kNotEqual},
       {"=", Compare::kEqual},
       {">", Compare::kMore},
       {"<", Compare::kLess}}};
  const size_t at = text.find_first_of("<>!=");
  const std::string_view fact = text.substr(0, at), rest = text.substr(fact.size());
  const auto sign = std::ranges::find_if(
      kSigns, [&](const auto& candidate) { return rest.starts_with(candidate.first); });
  if (sign == kSigns.end() || !IsLabelWord(fact) || !IsLabelWord(rest.substr(sign->first.size()))) {
    return InvalidArgument(Quoted(text, 80),
                           ": expected conditions such as samples>=500 or site=north, separated "
                           "by commas, with =, !=, >=, <=, > or <");
  }
  Condition condition = {.fact = std::string(fact),
                         .compare = sign->second,
                         .value = std::string(rest.substr(sign->first.size()))};
  condition.number = FiniteNumber(condition.value);
  const bool orders =
      condition.compare != Compare::kEqual && condition.compare != Compare::kNotEqual;
  const bool of_number = fact == kSamplesFact || fact == kStepsFact;
  if ((orders || of_number) && !condition.number) {
    return InvalidArgument(Quoted(text, 80), ": expected a number after ", fact, sign->first);
  }
  if (orders && fact == kNameFact) {
    return InvalidArgument(Quoted(text, 80), ": names are compared with = and != only");
  }
  return condition;
}

absl::StatusOr<Criterion> Criterion::Parse(std::string_view text) {
  Criterion criterion;
  criterion.text_ = text;
  if (text.empty()) return criterion;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  for (const std::string& part : parts) {
    DTNN_ASSIGN_OR_RETURN(Condition condition, ParseCondition(part));
    criterion.conditions_.push_back(std::move(condition));
  }
  return criterion;
}

bool Criterion::Holds(const Condition& condition, double number) {
  const double wanted = *condition.number;
  switch (condition.compare) {
    case Compare::kEqual:
      return number == wanted;
    case Compare::kNotEqual:
      return number != wanted;
    case Compare::kAtLeast:
      return number >= wanted;
    case Compare::kAtMost:
      return number <= wanted;
    case Compare::kMore:
      return number > wanted;
    case Compare::kLess:
      return number < wanted;
  }
  return false;
}

bool Criterion::Holds(const Condition& condition, std::string_view text) {
  const std::optional<double> number = FiniteNumber(text);
  if (number && condition.number) return Holds(condition, *number);
  if (condition.compare == Compare::kEqual) return text == condition.value;
  return condition.compare == Compare::kNotEqual && text != condition.value;
}

bool Criterion::Fulfils(const ClientFacts& client) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    if (condition.fact == kNameFact) {
      return (client.name == condition.value) == (condition.compare == Compare::kEqual);
    }
    if (condition.fact == kSamplesFact) return Holds(condition, double(client.samples));
    if (condition.fact == kStepsFact) return Holds(condition, double(client.steps));
    const auto label = std::ranges::find(client.labels, condition.fact, &Labels::value_type::first);
    return label != client.labels.end() && Holds(condition, label->second);
  });
}

std::string TextOfOthers(const Criterion& criterion, size_t others) {
  if (others == 0) return "";
  return StrCat(", and ", others, " more ", others == 1 ? "does" : "do", " not fulfil ",
                criterion.text());
}

}  // namespace dtnn::federation
