// What a client of a federation is, and what it asks of its aggregator.

#ifndef DTNN_COMM_FEDERATION_CLIENT_CLIENT_OPTIONS_H_
#define DTNN_COMM_FEDERATION_CLIENT_CLIENT_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/federation/client/round_task.h"
#include "comm/federation/labels.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

// The larger one of two clients may have 3.7 times the samples of the other.
inline constexpr double kLeastClients = 1.5;

struct ClientOptions {
  MeetingPlace place;
  std::string name;  // the same when it comes again
  ModelFacts model;
  int64_t samples = 0;  // that it trains on in a round
  int64_t steps = 1;    // updates of its parameters in a round
  Labels labels = {};   // by which the aggregator may choose whom it asks
  // Of an aggregator that is a client, in place of `samples`: what it would average now. Asked
  // before each hello, and while it waits for a round, so that the other end hears of changes.
  std::function<GroupSize()> group = {};
  // Names of the outputs, in their order; empty: not known. The aggregator gets a hash of them, and
  // refuses a client whose classes have other names than those of another.
  std::vector<std::string> class_names = {};
  // HashOfNames of the clients of an aggregator that does not know the names; zeros: not known.
  Hash names_of_clients{};
  ProtectionOptions protection = {};
  // That clients share and the aggregator does not have: needed for Protection::kSharedKey; with
  // masks and threshold keys it keeps the aggregator from playing the other clients.
  std::optional<Secret> key = {};
  // By which it proves its name to an aggregator that wants it: a file with its private key of
  // Ed25519, read whenever it connects, so that another key there counts from then on; empty: none.
  std::string identity_key_file = {};
  // The key that the aggregator has to prove; nothing: any process that knows the secret will do.
  std::optional<Ed25519PublicKey> aggregator_key = {};
  // Protection::kSharedKey: sends metrics as they are. They tell the aggregator of a model that it
  // cannot read, and of the client's data.
  bool plain_metrics = false;
  // Where only a sum hides updates (Protector::hides_in_sums): it sends none where the weights of
  // those that are asked hide it no better than so many equal ones would (factors.h). 1: any sum
  // will do.
  double least_clients = kLeastClients;
  // Makes the noise of differential privacy repeatable; nothing: seeds from the system, which is
  // what protects.
  std::optional<Secret> noise_seed = {};
  uint64_t seed = 0;  // of the random numbers by which a compressed update is rounded
  // So long it tries to reach the aggregator, and waits for a sign of it.
  std::chrono::milliseconds timeout{};
  // All of an update is sent but its last message, without which it is never used: from now on the
  // client may be lost before it knows. An error ends Submit.
  std::function<absl::Status(const AttemptId& attempt)> completing = {};
  // An attempt is over, and the aggregator uses this client's update, or not; where it does not
  // wait for a round, that it has the update in its buffer. An error ends Next or Submit.
  std::function<absl::Status(const AttemptId& attempt, bool used)> verdict = {};
  std::function<void(std::string_view line)> say = {}, warn = {};
  std::function<bool()> interrupted = {};
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_CLIENT_OPTIONS_H_
