// What a broker publishes for a rank whose connection breaks: a token, from which the number of its
// instance follows by a hash. Before that only the rank and its broker know the token; so nobody
// else can write the will of a rank that is there, not even those who know the job's secret.

#ifndef DTNN_COMM_TRANSPORT_MQTT_MQTT_WILL_H_
#define DTNN_COMM_TRANSPORT_MQTT_MQTT_WILL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/transport/relay/datagrams.h"

namespace dtnn {

// What all topics of a job begin with: "dtnn/0f3c...".
absl::StatusOr<std::string> JobTopic(const JobSecret& secret);
// What a rank is sent: ".../0", and for all others ".../others/3", so that a broker's access list
// can tell them apart.
std::string TopicOfRank(const std::string& job_topic, int rank);

absl::StatusOr<uint64_t> NumberOf(const JobSecret& secret, const Secret& token);
std::vector<uint8_t> MakeWill(int rank, const Secret& token);
// The process that the will is of; nothing for bytes that are not a will.
std::optional<Instance> ReadWill(const JobSecret& secret, std::span<const uint8_t> bytes);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MQTT_MQTT_WILL_H_
