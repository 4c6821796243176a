// How several processes train one model: which they are, what they exchange, and how it is hidden.

#ifndef DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_

#include <cstdint>
#include <string>

namespace dtnn {

struct RankOptions {
  std::string parallel = "sequential";  // or data or federated
  std::string transport = "auto";       // or mpi or tcp, as the launcher has settled it
  std::string rendezvous = {};          // HOST:PORT; empty: the environment's
  std::string elastic = {};             // MIN:MAX ranks; empty: those of the start
  bool shared_storage = true;  // else every rank has data of its own and writes files of its own
  double timeout = 300;        // seconds

  friend bool operator==(const RankOptions&, const RankOptions&) = default;
};

// What ranks of ranks.parallel=data exchange.
struct SyncOptions {
  int64_t model_steps = 0;        // > 0: models are averaged so often; 0: gradients; < 0: never
  std::string weighting = "avg";  // of the models: or wavg or invwavg
  std::string participation = "all";
  int64_t min_available = 0;
  bool initial_model = true;
  bool final_model = true;
  bool batch_norm = false;           // statistics are those of all ranks
  bool blocking = true;              // gradients are reduced after the backward pass, not during it
  std::string mpi_sums = {};         // True or False; empty: True
  std::string compression = "none";  // of gradients: or fp16 or bf16
  std::string bucket_mb = "auto";    // 2^20 bytes; see BucketBytes

  friend bool operator==(const SyncOptions&, const SyncOptions&) = default;
};

// A client of a federation.
struct FederationOptions {
  std::string server = "127.0.0.1:61643";  // HOST:PORT of the aggregator
  std::string client_name = {};            // empty: made from the host's name
  bool plain_metrics = false;              // tenseal: the aggregator reads the clients' metrics
  double least_clients = 1.5;              // of equal weight, that hide a client's update in a sum
  double dp_clip = 0;                      // longest update of a client; 0: no differential privacy
  double dp_noise = 0;                     // deviation, times that
  double dp_delta = 1e-5;                  // at which epsilons are reported

  friend bool operator==(const FederationOptions&, const FederationOptions&) = default;
};

// Encryption of what clients or ranks send.
struct EncryptionOptions {
  std::string kind = {};  // masked, tenseal or openfhe; empty: none
  int64_t poly_degree = 13;
  int64_t global_scale = 40;  // of openfhe 61, unless it is given
  std::string security_level = "128";
  std::string key_file = {};  // that all share, with tenseal

  friend bool operator==(const EncryptionOptions&, const EncryptionOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_RANK_OPTIONS_H_
