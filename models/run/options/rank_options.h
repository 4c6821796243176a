// How several processes train one model: which they are, what they exchange, and how it is hidden.

#ifndef DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "comm/launch_place.h"
#include "comm/model_sync.h"
#include "models/run/options/option_words.h"

namespace dtnn {

// Alone, with other ranks of one job, or as a client of a federation.
enum class Parallel : uint8_t { kSequential, kData, kFederated };
constexpr auto WordsOf(Parallel) {
  return std::to_array<OptionWord<Parallel>>({{Parallel::kSequential, "sequential"},
                                              {Parallel::kData, "data"},
                                              {Parallel::kFederated, "federated"}});
}

// Not set: as the environment says (comm/launch_place.h).
using TransportChoice = std::optional<Transport>;
constexpr auto WordsOf(TransportChoice) {
  return std::to_array<OptionWord<TransportChoice>>({{std::nullopt, "auto"},
                                                     {Transport::kMpi, "mpi"},
                                                     {Transport::kTcp, "tcp"},
                                                     {Transport::kGrpc, "grpc"},
                                                     {Transport::kMqtt, "mqtt"}});
}

// How ranks are joined (models/run/parts/rank_process.h); sync.mpi_sums belongs to it. A Run has
// the ranks of its communicator.
struct RankOptions {
  Parallel parallel = Parallel::kSequential;
  TransportChoice transport = {};
  std::string rendezvous = {};  // HOST:PORT; empty: the environment's
  std::string elastic = {};     // MIN:MAX ranks; empty: those of the start
  bool shared_storage = true;   // else every rank has data of its own and writes files of its own
  double timeout = 300;         // seconds

  friend bool operator==(const RankOptions&, const RankOptions&) = default;
};

// What ranks exchange while they train, as one number: batches from one average of their models to
// the next; 0: the gradients of every batch are summed; less: nothing.
class ModelSteps {
 public:
  constexpr ModelSteps(int64_t steps = 0) : steps_(steps) {}  // NOLINT: is a number
  static constexpr ModelSteps Never() { return -1; }

  constexpr bool sums_gradients() const { return steps_ == 0; }
  constexpr bool averages_models() const { return steps_ > 0; }
  constexpr bool exchanges_nothing() const { return steps_ < 0; }
  constexpr int64_t number() const { return steps_; }

  friend bool operator==(const ModelSteps&, const ModelSteps&) = default;

 private:
  int64_t steps_;
};
inline int64_t AsOption(const ModelSteps& steps) { return steps.number(); }
inline void FromOption(int64_t number, ModelSteps& steps) { steps = number; }

constexpr auto WordsOf(RankWeighting) {
  return std::to_array<OptionWord<RankWeighting>>({{RankWeighting::kEqual, "avg"},
                                                   {RankWeighting::kSamples, "wavg"},
                                                   {RankWeighting::kInverseSamples, "invwavg"}});
}
constexpr auto WordsOf(Participation) {
  return std::to_array<OptionWord<Participation>>(
      {{Participation::kAll, "all"}, {Participation::kWithData, "avail2all"}});
}

// What ranks of Parallel::kData exchange.
struct SyncOptions {
  ModelSteps model_steps = {};
  RankWeighting weighting = RankWeighting::kEqual;  // of the models
  Participation participation = Participation::kAll;
  int64_t min_available = 0;
  bool initial_model = true;
  bool final_model = true;
  bool batch_norm = false;  // statistics are those of all ranks
  bool blocking = true;     // gradients are reduced after the backward pass, not during it
  std::optional<bool> mpi_sums = {};  // not set: true where MPI can
  std::string compression = "none";   // of gradients: or fp16 or bf16
  std::string bucket_mb = "auto";     // 2^20 bytes; see BucketBytes

  friend bool operator==(const SyncOptions&, const SyncOptions&) = default;
};

// A client of a federation.
struct FederationOptions {
  std::string server = "127.0.0.1:61643";  // HOST:PORT of the aggregator
  std::string client_name = {};            // empty: made from the host's name
  std::string client_labels = {};          // KEY=VALUE, by which the aggregator may choose
  std::string identity_key_file = {};      // by which it proves that name; read at every call
  std::string aggregator_key = {};    // public, in base64: the client disconnects from any other
  std::string local_parameters = {};  // patterns of those that stay (ExchangedParameters)
  bool plain_metrics = false;         // tenseal: the aggregator reads the clients' metrics
  int64_t mask_neighbours = 0;        // masked: that each client has at least; 0: all others
  double least_clients = 1.5;         // of equal weight, that hide a client's update in a sum
  double dp_clip = 0;                 // longest update of a client; 0: no differential privacy
  double dp_noise = 0;                // deviation, times that
  double dp_delta = 1e-5;             // at which epsilons are reported
  double dp_quantile = 0;             // of lengths of updates, which the clip follows; 0: it stays
  double dp_clip_rate = 0.2;          // of its steps
  double dp_bit_noise = 0;            // of the sum that counts short updates; 0: twice dp_noise

  friend bool operator==(const FederationOptions&, const FederationOptions&) = default;
};

// Encryption of what clients or ranks send.
struct EncryptionOptions {
  std::string kind = {};  // masked, tenseal or openfhe; empty: none
  int64_t poly_degree = 13;
  std::optional<int64_t> global_scale = {};  // see GlobalScaleOf
  std::string security_level = "128";
  std::string key_file = {};  // that all share, with tenseal

  friend bool operator==(const EncryptionOptions&, const EncryptionOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_
