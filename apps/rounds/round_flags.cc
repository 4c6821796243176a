#include "apps/rounds/round_flags.h"

#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "comm/federation/protection.h"
#include "models/run/options/option_value.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr Range kRounds = {.low = 1, .high = 1e9};
constexpr Range kBuffer = {.low = 0, .high = 4096};
constexpr Range kNumber = {.low = 0, .high = 1e38};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};

}  // namespace

std::vector<OptionSpec> OptionsOfStrategy(RoundFlags& flags) {
  using enum OptionType;
  return {
      {.name = "rounds",
       .type = kInt,
       .help = "number of rounds: in each, clients train and the aggregator averages their models",
       .unit = "rounds",
       .range = kRounds,
       .field = &flags.rounds},
      {.name = "strategy",
       .type = kWord,
       .help = "how updates become the next parameters",
       .words = "avg,wavg,invwavg,fedprox,fednova,scaffold,fedavgm,fedadam,fedyogi,fedadagrad",
       .field = &flags.strategy,
       .meanings = "avg: mean of the clients' parameters\n"
                   "wavg: the same, weighted by their samples\n"
                   "invwavg: more samples, less weight\n"
                   "fedprox: wavg, and clients stay near the parameters of the round\n"
                   "fednova: wavg of what a step of each client does: for different numbers of "
                   "steps\n"
                   "scaffold: wavg of clients that correct their gradients towards those of all\n"
                   "fedavgm: wavg with momentum\n"
                   "fedadam: Adam, on the difference that wavg makes\n"
                   "fedyogi: the same, but steps grow slowly after a large difference\n"
                   "fedadagrad: the same, but steps only get smaller\n"},
      {.name = "select",
       .type = kText,
       .help = "ask only clients that fulfil all of these conditions: samples, steps (updates in a "
               "round), name or labels of theirs, compared with =, !=, >=, <=, > or <",
       .unit = "CONDITION,...",
       .field = &flags.select,
       .example = "samples>=500,site=north"},
      {.name = "proximal-mu",
       .type = kReal,
       .help = "fedprox: how strongly clients stay near the parameters of the round",
       .unit = "factor",
       .range = kNumber,
       .field = &flags.proximal_mu},
      {.name = "server-learning-rate",
       .type = kReal,
       .help = "scaffold, fedavgm, fedadam, fedyogi, fedadagrad: size of a round's step; 0: 1 with "
               "scaffold and fedavgm, 0.1 with the others",
       .unit = "rate",
       .range = kNumber,
       .field = &flags.server_learning_rate},
      {.name = "server-momentum",
       .type = kReal,
       .help = "fedavgm, fedadam, fedyogi, fedadagrad: momentum, the decay rate of the mean of "
               "earlier rounds",
       .unit = "factor",
       .range = kBelow1,
       .field = &flags.server_momentum},
      {.name = "buffer-size",
       .type = kInt,
       .help = "rounds that do not wait: clients are asked one by one as they become free, and the "
               "parameters move after so many updates; 0: a round waits for all clients that it "
               "asks",
       .unit = "updates",
       .range = kBuffer,
       .field = &flags.buffer_size,
       .example = "10"},
      {.name = "staleness-weight",
       .type = kWord,
       .help = "--buffer-size: the weight of an update, by how often the parameters have moved "
               "since its client was asked",
       .words = "root,constant",
       .field = &flags.staleness_weight,
       .meanings = "root: 1 / sqrt(1 + staleness)\n"
                   "constant: 1\n"},
      {.name = "max-staleness",
       .type = kInt,
       .help = "--buffer-size: updates are dropped for which the parameters have moved more often",
       .unit = "rounds",
       .range = kCountFrom0,
       .field = &flags.max_staleness},
      {.name = "max-update-norm",
       .type = kReal,
       .help = "skip updates that are farther from the parameters of the round; 0: none",
       .unit = "norm",
       .range = kNumber,
       .field = &flags.max_update_norm},
      {.name = "update-compression",
       .type = kText,
       .help = "what clients send of an update, in fewer bytes: none, all of it; bf16, fp16, half, "
               "rounded; int8, a quarter, rounded by chance; top-k:FRACTION, the fraction that is "
               "largest, and the rest in later rounds",
       .unit = "COMPRESSION",
       .field = &flags.compression,
       .example = "top-k:0.01"},
      {.name = "robust",
       .type = kText,
       .help = "in place of the mean of updates one that a few bad ones cannot move far: median; "
               "trimmed:F, without the fraction F of the largest and smallest numbers; krum:F, of "
               "all but the fraction F that is farthest from the others; norm:R, of updates that "
               "are shortened to the length R. Of n updates, F n is rounded down",
       .unit = "MEAN",
       .field = &flags.robust,
       .example = "trimmed:0.2"},
  };
}

std::vector<OptionSpec> OptionsOfPrivacy(Options& run) {
  return {
      LikeLauncher("dp-clip", &run.federation.dp_clip),
      LikeLauncher("dp-noise", &run.federation.dp_noise),
      LikeLauncher("dp-delta", &run.federation.dp_delta),
      LikeLauncher("dp-quantile", &run.federation.dp_quantile),
      LikeLauncher("dp-clip-rate", &run.federation.dp_clip_rate),
      LikeLauncher("dp-bit-noise", &run.federation.dp_bit_noise),
  };
}

std::vector<OptionSpec> OptionsOfRoundFiles(RoundFlags& flags, Options& run) {
  return {
      LikeLauncher("checkpoint-dir", &run.checkpoint.folder,
                   "save the state after each round in this folder, for --resume"),
      LikeLauncher("resume", &run.checkpoint.resume,
                   "continue after the last round in --checkpoint-dir; if-there: begin a new "
                   "federation if there is none"),
      LikeLauncher("history-file", &run.output.history,
                   "write the clients' metrics, weighted with their samples, and bytes and "
                   "seconds of every round to this file: .csv"),
      LikeLauncher("report", &run.output.report,
                   "after each round, write a page with the same to this file: .html"),
      {.name = "clients-file",
       .type = OptionType::kPath,
       .help = "write what each client did in every round to this file: .csv",
       .field = &flags.clients_file,
       .example = "clients.csv"},
      LikeLauncher("save-model", &run.output.model,
                   "write the weights after the last round to this file: .npz or .safetensors"),
  };
}

OptionSpec OptionOfTests(RoundFlags& flags, std::string_view by_default) {
  return {.name = "test-every",
          .type = OptionType::kInt,
          .help =
              "test the parameters of every so many rounds on the test split: columns val_...; "
              "0: never",
          .unit = "rounds",
          .range = kCountFrom0,
          .field = &flags.test_every,
          .by_default = by_default};
}

std::vector<OptionSpec> OptionsOfTestSamples(Options& run) {
  return {
      LikeLauncher("dataset-test-path", &run.data.test_path),
      LikeLauncher("archive-format", &run.data.archive_format),
      LikeLauncher("synthetic-test-samples", &run.data.synthetic.test_samples),
      LikeLauncher("synthetic-input-shape", &run.data.synthetic.input_shape),
      LikeLauncher("synthetic-output-shape", &run.data.synthetic.output_shape),
      LikeLauncher("synthetic-pattern", &run.data.synthetic.pattern),
      LikeLauncher("transform-square", &run.data.center_square),
      LikeLauncher("transform-crop", &run.data.center_crop),
      LikeLauncher("transform-crop-perc", &run.data.center_crop_share),
      LikeLauncher("transform-resize", &run.data.resize),
      LikeLauncher("transform-resize-size", &run.data.resize_side),
      LikeLauncher("normalize", &run.data.normalize),
      LikeLauncher("normalize-offset", &run.data.normalize_offset),
      LikeLauncher("normalize-scale", &run.data.normalize_scale),
  };
}

std::string HintOfNeighbours(const Options& run) {
  if (run.encryption.kind != "masked" || run.federation.mask_neighbours != 0) return "";
  const int most = federation::MostParticipants(
      {.protection = federation::Protection::kMasked, .mask_neighbours = 1});
  return StrCat("; ", most, " with --mask-neighbours, where masks are not shared with all others");
}

std::vector<IdentityMember> MembersOf(const RoundFlags& flags) {
  const federation::StrategyOptions strategy = StrategyOf(flags);
  std::vector<IdentityMember> members = {
      {.what = "--select", .value = flags.select.empty() ? "none" : flags.select},
      {.what = "--robust", .value = flags.robust.empty() ? "none" : flags.robust},
      {.what = "--max-update-norm", .value = FormatValue(ToValue(flags.max_update_norm))}};
  members.push_back({.what = "--buffer-size", .value = FormatValue(ToValue(flags.buffer_size))});
  members.push_back({.what = "--update-compression", .value = flags.compression});
  if (flags.buffer_size > 0) {
    members.push_back({.what = "--staleness-weight", .value = flags.staleness_weight});
    members.push_back(
        {.what = "--max-staleness", .value = FormatValue(ToValue(flags.max_staleness))});
  }
  if (strategy.reads_average() && !strategy.by_steps()) {
    members.push_back(
        {.what = "--server-learning-rate", .value = FormatValue(ToValue(strategy.rate()))});
    if (strategy.controls()) return members;
    members.push_back(
        {.what = "--server-momentum", .value = FormatValue(ToValue(strategy.momentum))});
  }
  if (strategy.strategy == federation::Strategy::kFedprox) {
    members.push_back({.what = "--proximal-mu", .value = FormatValue(ToValue(strategy.proximal))});
  }
  return members;
}

federation::StrategyOptions StrategyOf(const RoundFlags& flags) {
  return {.strategy = *federation::ParseStrategy(flags.strategy),
          .proximal = flags.proximal_mu,
          .learning_rate = flags.server_learning_rate,
          .momentum = flags.server_momentum};
}

federation::Compression CompressionOf(const RoundFlags& flags) {
  return *federation::ParseCompression(flags.compression);
}

federation::BufferOptions BufferOf(const RoundFlags& flags) {
  return {.size = int(flags.buffer_size),
          .weight = *federation::ParseStalenessWeight(flags.staleness_weight),
          .max_staleness = flags.max_staleness};
}

}  // namespace dtnn
