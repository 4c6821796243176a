#include "tensor/text/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kLongestName = 64;

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

bool Separates(char c) { return c == '-' || c == '_'; }

// "lr" of "learning-rate"; empty for a single word.
std::string Initials(std::string_view name) {
  std::string initials;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || Separates(name[i - 1])) initials += name[i];
  }
  return initials.size() > 1 ? initials : "";
}

bool IsLastWordOf(std::string_view name, std::string_view candidate) {
  return candidate.ends_with(StrCat("-", name)) || candidate.ends_with(StrCat("_", name));
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> NearestName(std::string_view name,
                                            std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  const std::string wanted = Lower(name);
  std::optional<std::string_view> nearest, prefixed, abbreviated, ending, beginning;
  size_t prefix_matches = 0;
  size_t best = std::max<size_t>(name.size() / 3, 1) + 1;  // a candidate must be nearer than this
  for (const std::string_view candidate : candidates) {
    const std::string known = Lower(candidate);
    if (known.starts_with(wanted)) {
      prefixed = candidate;
      ++prefix_matches;
      const bool whole_words = known.size() > wanted.size() && Separates(known[wanted.size()]);
      if (whole_words && !beginning) beginning = candidate;
    }
    if (!abbreviated && Initials(known) == wanted) abbreviated = candidate;
    if (IsLastWordOf(wanted, known) && (!ending || candidate.size() < ending->size())) {
      ending = candidate;
    }
    const size_t distance = EditDistance(wanted, known);
    const bool fits_better = nearest && distance == best && candidate.size() == name.size() &&
                             nearest->size() != name.size();
    if (distance < best || fits_better) {
      best = distance;
      nearest = candidate;
    }
  }
  if (nearest && best <= 1) return nearest;
  if (abbreviated) return abbreviated;
  if (prefix_matches == 1) return prefixed;
  return nearest ? nearest : ending ? ending : beginning;
}

std::string JoinOr(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    StrAppend(&text, i == 0 ? "" : i + 1 < words.size() ? ", " : " or ", words[i]);
  }
  return text;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::optional<std::string_view> nearest = NearestName(name, candidates);
  return nearest ? "; did you mean \"" + std::string(*nearest) + "\"?" : "";
}

}  // namespace dtnn
