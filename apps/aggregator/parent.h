// The aggregator that this one is a client of, as its options say.

#ifndef DTNN_APPS_AGGREGATOR_PARENT_H_
#define DTNN_APPS_AGGREGATOR_PARENT_H_

#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/aggregator/aggregator_flags.h"
#include "comm/federation/aggregator/parent/parent_options.h"

namespace dtnn {

// Nothing where there is none. The errors of FindMeeting (models/run/federated), before which it is
// to be called: it leaves the secret in the environment.
absl::StatusOr<std::optional<federation::ParentOptions>> FindParent(
    const AggregatorFlags& flags, const std::function<void(std::string_view)>& warn);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_PARENT_H_
