// The least and the greatest number of ranks of a job: what --elastic=MIN:MAX says.

#ifndef DTNN_COMM_RANKS_ELASTIC_ELASTIC_RANGE_H_
#define DTNN_COMM_RANKS_ELASTIC_ELASTIC_RANGE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dtnn {

struct ElasticRange {
  static constexpr int kMost = 1024;

  int min = 1, max = 1;

  // "2:4". InvalidArgument for anything else than two numbers, 1 <= MIN <= MAX <= kMost.
  static absl::StatusOr<ElasticRange> Parse(std::string_view text);
  std::string ToString() const;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_ELASTIC_ELASTIC_RANGE_H_
