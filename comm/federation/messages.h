// The bodies of frames (frame.h), read without trust: every length and number is checked before it
// is used, and errors say what is wrong.

#ifndef DTNN_COMM_FEDERATION_MESSAGES_H_
#define DTNN_COMM_FEDERATION_MESSAGES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/agreed.h"
#include "comm/federation/compression.h"
#include "comm/federation/frame.h"
#include "comm/federation/labels.h"
#include "comm/model_sync.h"
#include "comm/secrets/crypto/hash.h"

namespace dtnn::federation {

inline constexpr size_t kMostNameBytes = 64;
inline constexpr size_t kMostTextBytes = 512;
// The most outputs of a network, and bytes of their names (kMostClassNameBytes each).
inline constexpr size_t kMostClasses = 1 << 16;
inline constexpr size_t kMostClassesBytes = 1 << 22;
// More samples than these no client has.
inline constexpr int64_t kMostSamples = int64_t{1} << 40;
// Nor does one make more updates of its parameters in a round.
inline constexpr int64_t kMostSteps = int64_t{1} << 30;
// Nor do more clients stand behind one that is an aggregator.
inline constexpr int64_t kMostGroup = int64_t{1} << 24;
// Nor more aggregators behind it, of which it says so.
inline constexpr size_t kMostAggregators = 256;

using Metrics = std::vector<std::pair<std::string, double>>;
using RunNonce = std::array<uint8_t, 16>;
// Says which key clients share, and nothing about it; zeros where they share none.
using KeyName = std::array<uint8_t, 8>;

// These facts must be the same on both sides for sums to make sense.
struct ModelFacts {
  Hash network{};                    // of the network: layers, shapes, their order in memory
  uint64_t values = 0;               // numbers that are exchanged
  uint64_t trainable = 0;            // the first of them; the others are running statistics
  std::array<uint32_t, 3> sample{};  // height, width, channels; of the network's input
  Hash local{};                      // of which parameters stay with clients; zeros: none
  friend bool operator==(const ModelFacts&, const ModelFacts&) = default;
};

// The meaning of the outputs of the aggregator's network: clients match the classes of their data
// by name.
struct Classes {
  uint32_t outputs = 0;                 // 0: not known
  std::vector<std::string> names = {};  // one per output; empty: not known
};
// InvalidArgument for more than an aggregator can send, another number of names, and names that
// appear twice or are not class names (tensor/text/class_name.h).
absl::Status CheckClasses(const Classes& classes);
// Lists with the same names in the same order have the same hash; zeros for none.
absl::StatusOr<Hash> HashOfNames(std::span<const std::string> names);

// The clients of an aggregator that is a client itself, and the samples of all of them.
struct GroupSize {
  int64_t clients = 0, samples = 0;
  // The numbers of the aggregator's process, and of those behind it: one that finds its own is its
  // own parent.
  std::vector<RunNonce> aggregators = {};
  friend bool operator==(const GroupSize&, const GroupSize&) = default;
};

struct Hello {
  std::string name;
  ModelFacts model;
  int64_t samples = 0;
  std::string protection;  // how it protects its updates, in words with all parameters
  KeyName key{};
  Hash class_names{};  // HashOfNames of the classes of its data
  int64_t steps = 1;   // updates of its parameters in a round
  // Of an aggregator: its clients, whose samples those are; 0: it has data of its own.
  int64_t clients = 0;
  std::vector<RunNonce> aggregators = {};  // of an aggregator: GroupSize
  Labels labels = {};
};

struct Welcome {
  RunNonce nonce{};       // of the aggregator's process: keys are made for it
  uint32_t alive_ms = 0;  // it says something at least so often
};

// Where the parameters of a round come from.
struct ParametersFrom {
  // The result of an encrypted sum, which is the parameters times `divisor`; else plain numbers.
  bool encrypted = false;
  uint64_t attempt = 0;  // of that sum; 0: not known, as after a plain one that was saved
  RunNonce nonce{};      // of the run that made it
  uint32_t clients = 0;  // for how many it was made
  double divisor = 1;
};

struct RoundStart {
  bool over = false;                  // no round: these are the final parameters
  int64_t round = 0, rounds = 0;      // from 1
  uint32_t position = 0;              // of this client among
  std::vector<int64_t> samples = {};  // those of all clients that are asked, by position
  RankWeighting weighting = RankWeighting::kEqual;  // of these samples: ClientFactors
  std::vector<int64_t> steps = {};  // of the same clients, where weights are divided by them
  // Behind each of the same clients, 1 for one with data of its own; empty: all have.
  std::vector<int64_t> clients = {};
  uint32_t quorum = 0;  // updates that are enough
  double proximal = 0;  // mu of fedprox; 0: none
  double deadline = 0;  // seconds
  // What clients send of the trainable numbers: less the parameters of the round; else as they are.
  bool difference = false;
  // After the parameters comes the control variate of the aggregator (aggregator/strategy.h), of as
  // many numbers as there are trainable ones, and after an update what the client's has changed by.
  bool control = false;
  double clip = 0;               // of updates, where it adapts (privacy.h); 0: it does not
  Compression compression = {};  // of differences
  ParametersFrom parameters = {};
};

struct Report {
  int64_t samples = 0;  // that were trained on
  double seconds = 0;
  Metrics metrics = {};
  int64_t clients = 0;  // of an aggregator: those of its mean
};

struct Verdict {
  bool accepted = false;
  std::string text;
};

// Covers all that an attempt at a round sends to each of its clients alike, with the chunks of the
// parameters: where those of the others give no updates, their sum is one client's.
absl::StatusOr<Hash> HashOfRound(RoundStart start, const RunNonce& nonce, uint64_t attempt,
                                 std::span<const Bytes> parameters);

Bytes ToBytes(const Hello& message);
Bytes ToBytes(const Classes& message);
Bytes ToBytes(const GroupSize& message);
Bytes ToBytes(const Welcome& message);
Bytes ToBytes(const RoundStart& message);
Bytes ToBytes(const Report& message);
Bytes ToBytes(const Verdict& message);
// The body of kRefusal and kDecline: cut where it is too long.
Bytes TextToBytes(std::string_view text);

absl::StatusOr<Hello> HelloFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<Classes> ClassesFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<GroupSize> GroupSizeFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<Welcome> WelcomeFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<RoundStart> RoundStartFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<Report> ReportFromBytes(std::span<const uint8_t> bytes);
absl::StatusOr<Verdict> VerdictFromBytes(std::span<const uint8_t> bytes);
// One line, whatever the bytes are.
std::string TextFromBytes(std::span<const uint8_t> bytes);

// Letters, digits, and "._-", 1 to 64 of them: names stand in files and in lines for people.
absl::Status CheckClientName(std::string_view name);

// Several byte strings in one body; at most `most` of them.
Bytes ListToBytes(std::span<const Bytes> list);
absl::StatusOr<std::vector<Bytes>> ListFromBytes(std::span<const uint8_t> bytes, size_t most);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_MESSAGES_H_
