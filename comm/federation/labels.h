// What a client says of itself beside its name and its samples, for people and for criteria
// (aggregator/criterion.h): labels such as site=north or battery=80. Nobody checks whether they are
// true.

#ifndef DTNN_COMM_FEDERATION_LABELS_H_
#define DTNN_COMM_FEDERATION_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn::federation {

inline constexpr size_t kMostLabels = 16, kMostLabelBytes = 64;

using Labels = std::vector<std::pair<std::string, std::string>>;  // by key

// What criteria know of all clients; no label has such a key.
inline constexpr std::string_view kSamplesFact = "samples", kStepsFact = "steps",
                                  kNameFact = "name";

// Letters, digits, and "._-", 1 to 64 of them.
bool IsLabelWord(std::string_view word);
// InvalidArgument for too many, for keys and values that are not such words, for a key that appears
// twice, and for one that is a fact.
absl::Status CheckLabels(const Labels& labels);
// "site=north,battery=80"; none of an empty text.
absl::StatusOr<Labels> ParseLabels(std::string_view text);
std::string TextOf(const Labels& labels);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_LABELS_H_
