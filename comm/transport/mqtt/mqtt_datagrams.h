// Messages between ranks through an MQTT broker, that anybody may run.
//
// The topics begin with "dtnn/" and a number that follows from the job's secret: ".../0" is what
// rank 0 is sent, ".../others/3" what rank 3 is, ".../left" what the broker says of a rank whose
// connection broke (its will). The broker need not be trusted: what it carries is sealed
// (comm/transport/relay). It must let clients publish and subscribe there, and carry messages of
// 257 KiB. One that lets only rank 0 read its topic, and write to those of others, keeps processes
// that know the secret from answering in its place (docs/security.md).

#ifndef DTNN_COMM_TRANSPORT_MQTT_MQTT_DATAGRAMS_H_
#define DTNN_COMM_TRANSPORT_MQTT_MQTT_DATAGRAMS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

// Names of files in PEM form.
struct BrokerCertificates {
  std::string authority;         // of the broker's certificate
  std::string certificate, key;  // of this host; empty: it shows none
};

struct MqttOptions {
  Endpoint broker;
  std::string user = {}, password = {};        // empty: none
  std::optional<BrokerCertificates> tls = {};  // nothing: without TLS
  // What messages call this process, where its rank says nothing to people; empty: "rank 3".
  std::string self = {};
};

// The errors of files name them.
absl::StatusOr<std::unique_ptr<Datagrams>> MakeMqttDatagrams(const MqttOptions& options,
                                                             const JobSecret& secret);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_MQTT_MQTT_DATAGRAMS_H_
