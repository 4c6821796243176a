#include "apps/simulate/simulate_flags.h"

#include <algorithm>

#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/protection.h"
#include "comm/federation/simulation/client_seconds.h"
#include "comm/ranks/job/exit_code.h"
#include "data/loading/division/division.h"
#include "models/run/federated/federation_options.h"

namespace dtnn {
namespace {

using enum OptionType;

std::vector<OptionSpec> OptionsOfClients(SimulateFlags& flags) {
  return {
      {.name = "clients",
       .type = kInt,
       .help = "number of clients",
       .unit = "clients",
       .range = {.low = 1, .high = 1e6},
       .field = &flags.clients},
      {.name = "clients-per-round",
       .type = kInt,
       .help = "clients that a round asks, chosen at random; with --buffer-size, that train at a "
               "time",
       .unit = "clients",
       .range = {.low = 1, .high = 1e6},
       .field = &flags.clients_per_round,
       .by_default = "10, or all of --clients"},
      {.name = "min-clients",
       .type = kInt,
       .help = "fewest updates that a round needs; with fewer it is tried again",
       .unit = "clients",
       .range = {.low = 1, .high = 1e6},
       .field = &flags.min_clients},
      {.name = "split",
       .type = kText,
       .help = "how the training samples are divided among the clients: equal; dirichlet:ALPHA, "
               "by labels, the more unequally the smaller ALPHA; labels:K, K labels per client; "
               "sizes:SIGMA, log-normal sizes; file:FILE, a line of sample numbers per client. "
               "A seed may follow: dirichlet:0.3:7",
       .unit = "DIVISION",
       .field = &flags.split,
       .example = "dirichlet:0.3"},
      LikeLauncher("local-parameters", &flags.run.federation.local_parameters,
                   "parameters that stay with each client, neither sent nor received: patterns of "
                   "their keys, separated by commas"),
      {.name = "client-labels-file",
       .type = kPath,
       .help = "file with the labels of a client per line, such as site=north,battery=80, for "
               "--select; an empty line is a client without labels",
       .field = &flags.client_labels_file,
       .example = "labels.txt"},
      {.name = "client-seconds",
       .type = kText,
       .help = "how long clients take for a round, by a simulated clock, which decides the order "
               "of updates with --buffer-size: equal; lognormal:SPREAD, each client another time, "
               "half of them less than a second",
       .unit = "TIMES",
       .field = &flags.client_seconds,
       .example = "lognormal:1"},
      {.name = "drop-out",
       .type = kReal,
       .help = "probability that a client that is asked does not answer",
       .unit = "probability",
       .range = {.low = 0, .high = 1, .high_open = true},
       .field = &flags.drop_out,
       .example = "0.1"},
      {.name = "liars",
       .type = kReal,
       .help = "fraction of the clients that send --lie times what they have learnt",
       .unit = "fraction",
       .range = {.low = 0, .high = 1},
       .field = &flags.liars,
       .example = "0.2"},
      {.name = "lie",
       .type = kReal,
       .help = "with --liars: -1 is the opposite, 10 ten times as much",
       .unit = "factor",
       .range = {.low = -1e6, .high = 1e6},
       .field = &flags.lie},
      OptionOfTests(flags.rounds, "1, or 0 with --local-parameters"),
  };
}

std::vector<OptionSpec> ClientOptions(Options& run) {
  return {
      LikeLauncher("model", &run.network.name),
      LikeLauncher("dataset", &run.data.name),
      LikeLauncher("dataset-path", &run.data.path),
      LikeLauncher("num-epochs", &run.training.epochs, "epochs that a client trains in a round"),
      LikeLauncher("batch-size", &run.training.batch),
      LikeLauncher("optimizer", &run.optimizer.name),
      LikeLauncher("learning-rate", &run.optimizer.learning_rate),
      LikeLauncher("optimizer-momentum", &run.optimizer.momentum),
      LikeLauncher("optimizer-decay", &run.optimizer.decay),
      LikeLauncher("clip-norm", &run.training.clip_norm),
      LikeLauncher("loss-func", &run.training.loss),
      LikeLauncher("label-smoothing", &run.training.label_smoothing),
      LikeLauncher("metrics", &run.training.metrics),
      LikeLauncher("random-seed", &run.training.seed),
      LikeLauncher("weights-and-bias-filename", &run.network.weights),
      LikeLauncher("freeze", &run.network.freeze),
      LikeLauncher("tensor-format", &run.network.format),
  };
}

std::vector<OptionSpec> SampleOptions(Options& run) {
  std::vector<OptionSpec> options = {
      LikeLauncher("dataset-train-path", &run.data.train_path),
      LikeLauncher("synthetic-train-samples", &run.data.synthetic.train_samples),
      LikeLauncher("augment", &run.data.augment.transforms),
      LikeLauncher("mixup", &run.data.augment.mixup),
  };
  for (const OptionSpec& spec : OptionsOfTestSamples(run)) options.push_back(spec);
  return options;
}

std::vector<OptionSpec> ProtectionOptions(Options& run) {
  std::vector<OptionSpec> options = {
      LikeLauncher("encryption", &run.encryption.kind,
                   "masked: sums of integers, as with masks, which cancel"),
      LikeLauncher("mask-neighbours", &run.federation.mask_neighbours),
      LikeLauncher("least-clients", &run.federation.least_clients),
  };
  for (const OptionSpec& spec : OptionsOfPrivacy(run)) options.push_back(spec);
  return options;
}

}  // namespace

std::vector<OptionSection> SectionsOf(SimulateFlags& flags) {
  std::vector<OptionSpec> files = OptionsOfRoundFiles(flags.rounds, flags.run);
  files.push_back(LikeLauncher("progress", &flags.run.progress));
  return {{"The federation", OptionsOfClients(flags)},
          {"The aggregator", OptionsOfStrategy(flags.rounds)},
          {"Each client", ClientOptions(flags.run)},
          {"Its samples", SampleOptions(flags.run)},
          {"Protection", ProtectionOptions(flags.run)},
          {"Files", std::move(files)}};
}

void FollowClients(SimulateFlags& flags) {
  constexpr int64_t kUsual = 10;
  if (flags.clients_per_round == RoundFlags::kNotGiven) {
    flags.clients_per_round = std::min(kUsual, flags.clients);
  }
  if (flags.rounds.test_every == RoundFlags::kNotGiven) {
    flags.rounds.test_every = flags.run.federation.local_parameters.empty() ? 1 : 0;
  }
}

absl::Status CheckSimulateFlags(const SimulateFlags& flags) {
  const Options& run = flags.run;
  if (run.network.name.empty()) {
    return UsageError("--model: missing; name a network, such as --model=simplecnn8");
  }
  if (run.data.name.empty()) {
    return UsageError("--dataset: missing; name a data set, such as --dataset=mnist");
  }
  const std::string& encryption = run.encryption.kind;
  if (!encryption.empty() && encryption != "masked") {
    return UsageError("--encryption=", encryption,
                      ": clients in one process can have masked only; others need an aggregator "
                      "and clients of their own");
  }
  if (flags.clients_per_round > flags.clients) {
    return UsageError("--clients-per-round=", flags.clients_per_round, ": there are ",
                      flags.clients, " (--clients)");
  }
  if (flags.min_clients > flags.clients_per_round) {
    return UsageError("--min-clients=", flags.min_clients, ": a round asks ",
                      flags.clients_per_round, " (--clients-per-round)");
  }
  if (flags.rounds.buffer_size > flags.clients) {
    return UsageError("--buffer-size=", flags.rounds.buffer_size, ": there are ", flags.clients,
                      " (--clients), and each gives one update of the same parameters");
  }
  if (flags.rounds.buffer_size > 0 && flags.min_clients > 1) {
    return UsageError("--min-clients=", flags.min_clients, ": not with --buffer-size, which says ",
                      "how many updates a round has");
  }
  const absl::Status seconds = federation::ParseClientSeconds(flags.client_seconds).status();
  if (!seconds.ok()) return UsageError("--client-seconds=", seconds.message());
  const int most = federation::MostParticipants(ProtectionOf(run));
  if (!encryption.empty() && flags.clients_per_round > most) {
    return UsageError("--clients-per-round=", flags.clients_per_round,
                      ": --encryption=masked adds up ", most, " updates at most",
                      HintOfNeighbours(run));
  }
  if (flags.rounds.buffer_size == 0 && flags.rounds.robust.starts_with("krum") &&
      flags.clients_per_round > federation::kMostKrumUpdates) {
    return UsageError("--clients-per-round=", flags.clients_per_round,
                      ": --robust=", flags.rounds.robust, " takes ", federation::kMostKrumUpdates,
                      " updates at most");
  }
  const absl::Status split = ParseDivision(flags.split).status();
  if (!split.ok()) return UsageError("--split=", split.message());
  return CheckRoundFlags(flags.rounds, run, SizesOf(flags));
}

}  // namespace dtnn
