#include "comm/ranks/elastic/elastic_range.h"

#include "absl/strings/numbers.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Digits alone: SimpleAtoi takes signs and blanks too.
bool IsCount(std::string_view text, int& value) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
         absl::SimpleAtoi(std::string(text), &value) && value >= 1 && value <= ElasticRange::kMost;
}

}  // namespace

absl::StatusOr<ElasticRange> ElasticRange::Parse(std::string_view text) {
  ElasticRange range;
  const size_t colon = text.find(':');
  if (colon != text.npos && IsCount(text.substr(0, colon), range.min) &&
      IsCount(text.substr(colon + 1), range.max) && range.min <= range.max) {
    return range;
  }
  return InvalidArgument("must be MIN:MAX, the fewest and the most ranks, from 1 to ", kMost,
                         ", such as 2:4");
}

std::string ElasticRange::ToString() const { return StrCat(min, ":", max); }

}  // namespace dtnn
