// What a broker publishes for a rank whose connection breaks.

#ifndef DTNN_COMM_MQTT_MQTT_WILL_H_
#define DTNN_COMM_MQTT_MQTT_WILL_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/crypto/job_secret.h"
#include "comm/relay/datagrams.h"

namespace dtnn {

// What all topics of a job begin with: "dtnn/0f3c...".
absl::StatusOr<std::string> JobTopic(const JobSecret& secret);

absl::StatusOr<std::vector<uint8_t>> MakeWill(const JobSecret& secret, const Instance& who);
// Nothing for what no rank of the job has written.
std::optional<Instance> ReadWill(const JobSecret& secret, std::span<const uint8_t> bytes);

}  // namespace dtnn

#endif  // DTNN_COMM_MQTT_MQTT_WILL_H_
