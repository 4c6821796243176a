// The known name that a mistyped one most likely meant, for "did you mean" in error messages.
//
// Distance: insertions, deletions, substitutions and swaps of neighbours (optimal string
// alignment), letters compared without case; up to a third of the name may be wrong. Unless a
// candidate differs by one letter only, a name that consists of the initials of a candidate's words
// ("lr" of "learning-rate") means that candidate, and so does one that begins exactly one
// candidate. If nothing else is near, a name that is the last word of candidates ("epochs" of
// "num-epochs") means the shortest of them, and one that is their first words ("weights" of
// "weights-and-bias-filename") the first of them. O(candidates * length^2); lengths over 64 match
// nothing.

#ifndef DTNN_TENSOR_TEXT_NEAREST_H_
#define DTNN_TENSOR_TEXT_NEAREST_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dtnn {

size_t EditDistance(std::string_view a, std::string_view b);

// Among candidates at the same distance, one of the same length as the name, then the earlier one.
std::optional<std::string_view> NearestName(std::string_view name,
                                            std::span<const std::string_view> candidates);

// "a, b or c".
std::string JoinOr(std::span<const std::string_view> words);

// `; did you mean "NEAREST"?`, or nothing where no candidate is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_NEAREST_H_
