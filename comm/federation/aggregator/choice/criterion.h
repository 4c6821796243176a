// Which clients rounds may ask, by what they say of themselves: conditions that are all fulfilled.
//
//   samples>=500,site=north,battery>20
//
// A condition compares a fact with a value. Facts of every client are `samples`, that it trains on
// in a round, `steps`, the updates of its parameters in it, and `name`; any other word is the key
// of a label (../labels.h). = and != compare numbers as such, and other values as text; the other
// operators only numbers. A client without the label fulfils no condition on it.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CRITERION_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CRITERION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/federation/labels.h"

namespace dtnn::federation {

struct ClientFacts {
  std::string_view name;
  int64_t samples = 0, steps = 1;
  const Labels& labels;
};

class Criterion {
 public:
  // That all clients fulfil.
  Criterion() = default;
  // InvalidArgument for what is not a criterion; an empty text is that of all clients.
  static absl::StatusOr<Criterion> Parse(std::string_view text);

  bool Fulfils(const ClientFacts& client) const;
  bool is_of_all() const { return conditions_.empty(); }
  const std::string& text() const { return text_; }

 private:
  enum class Compare : uint8_t { kEqual, kNotEqual, kAtLeast, kAtMost, kMore, kLess };
  struct Condition {
    std::string fact;
    Compare compare = Compare::kEqual;
    std::string value;
    std::optional<double> number = {};  // that the value is
  };

  static absl::StatusOr<Condition> ParseCondition(std::string_view text);
  // For a condition with a number.
  static bool Holds(const Condition& condition, double number);
  // For a label, which may be a number.
  static bool Holds(const Condition& condition, std::string_view text);

  std::string text_;
  std::vector<Condition> conditions_;
};

// ", and 3 more do not fulfil samples>=500": for messages about those that are there; empty where
// all do.
std::string TextOfOthers(const Criterion& criterion, size_t others);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CRITERION_H_
