// The labels of simulated clients, from a file: a line per client, such as site=north,battery=80;
// an empty line is a client without labels.

#ifndef DTNN_APPS_SIMULATE_CLIENT_LABELS_H_
#define DTNN_APPS_SIMULATE_CLIENT_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/federation/labels.h"

namespace dtnn {

// One for each of so many clients; without a file they have none. Errors name the line.
absl::StatusOr<std::vector<federation::Labels>> ReadClientLabels(const std::string& path,
                                                                 int64_t clients);

}  // namespace dtnn

#endif  // DTNN_APPS_SIMULATE_CLIENT_LABELS_H_
