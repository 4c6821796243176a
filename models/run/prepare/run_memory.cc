#include "models/run/prepare/run_memory.h"

#include <algorithm>
#include <string>

#include "data/loading/loader.h"
#include "models/graph/table.h"
#include "models/plan/plan.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/make_encryption.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/tables/memory_table.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {

namespace {

// What training holds besides its plan, by the options that ask for it.
NamedBytes OthersOfTraining(const RunOptions& options, const Graph& graph, double element,
                            int ranks) {
  const double values = double(graph.num_parameters()) * element;
  const double trainable = double(graph.num_trainable_parameters()) * element;
  const bool client = options.ranks.parallel == Parallel::kFederated;
  NamedBytes others;
  // Schedulers hold the best parameters, each its own.
  for (const char* const keeper : {"early_stopping", "model_checkpoint"}) {
    if (!Schedules(options, keeper) || client) continue;
    others.emplace_back(StrCat("best parameters (", keeper, ")"), values);
  }
  if (options.training.accumulate_steps > 1)
    others.emplace_back("accumulated gradients", trainable);
  if (KeepsWholeSteps(options) && values > trainable) {
    others.emplace_back("statistics of the last step", values - trainable);
  }
  if (ranks == 1) return others;
  if (options.sync.compression != "none") {  // own halves and those of the others
    others.emplace_back("gradients as they are exchanged", trainable / element * 2 * 2);
  } else if (EncryptsSums(options)) {
    others.emplace_back("gradients as they are exchanged",
                        2 * ExchangedBytes(options, trainable / element));
  }
  if (!options.sync.model_steps.sums_gradients() || !options.ranks.shared_storage) {
    others.emplace_back("sums of models", trainable);
  }
  return others;
}

}  // namespace

double RunMemory::all_others() const {
  double bytes = 0;
  for (const auto& other : others) bytes += other.second;
  return bytes;
}

double RunMemory::all() const {
  return parameters + double(training ? training->total() : 0) +
         double(testing ? testing->total() : 0) + all_others();
}

int64_t SamplesAhead(int64_t batch) { return batch * (LoaderOptions().prefetch + 1); }

absl::StatusOr<RunMemory> MeasureMemory(const RunOptions& options, const Graph& graph,
                                        const Loss& loss, const Optimizer* optimizer,
                                        DeviceContext& context, const RunBatches& batches,
                                        int ranks, BestOf* best_of) {
  const DType dtype = ElementTypeOf(options);
  const std::string variant(ConvVariantOf(options));
  RunMemory memory = {.batches = batches, .parameters = ParameterBytes(graph, dtype, optimizer)};
  const bool one_by_one =
      options.training.dp_sgd_clip > 0;  // models/training/privacy/private_steps.h
  if (batches.training > 0) {
    DTNN_ASSIGN_OR_RETURN(memory.training,
                          Plan::Measure(graph, dtype, context,
                                        {.batch = one_by_one ? 1 : batches.training,
                                         .training = true,
                                         .loss = &loss,
                                         .conv_variant = variant,
                                         .best_of = best_of}));
  }
  if (batches.testing > 0) {
    DTNN_ASSIGN_OR_RETURN(memory.testing, Plan::Measure(graph, dtype, context,
                                                        {.batch = batches.testing,
                                                         .loss = &loss,
                                                         .conv_variant = variant,
                                                         .best_of = best_of,
                                                         .fusions = MakeFusions(options)}));
  }
  const double element = double(SizeOf(dtype));
  if (batches.training > 0) memory.others = OthersOfTraining(options, graph, element, ranks);
  if (one_by_one && memory.training) {
    const double sums = sizeof(double) * double(graph.num_trainable_parameters());
    const double copies =
        double(memory.training->total()) +
        element * double(graph.num_parameters() + graph.num_trainable_parameters());
    memory.others.emplace_back("samples one by one on several threads",
                               (NumThreads() + 2) * sums + (NumThreads() - 1) * copies);
  }
  if (IsHalf(ActivationType(context.math_mode(), dtype))) {
    constexpr double kHalf = 2;
    memory.others.emplace_back("copies of the weights in 16 bits",
                               kHalf * double(graph.num_parameters()));
    const auto batch = double(std::max(batches.training, batches.testing));
    memory.others.emplace_back("the batch in 16 bits",
                               kHalf * batch * double(graph.input_shape().NumElements()));
  }
  if (batches.ahead > 0) {
    memory.others.emplace_back(
        "batches read ahead",
        double(batches.ahead) * double(graph.input_shape().NumElements()) * element);
  }
  return memory;
}

namespace {

// "training on batches of 8 samples takes 9 MBytes of memory (...)".
std::string WhatTakesHowMuch(const RunMemory& memory) {
  const bool trains = memory.training.has_value();
  std::string text =
      StrCat(trains ? "training on" : "testing in", " batches of ",
             Counted(trains ? memory.batches.training : memory.batches.testing, "sample"),
             " takes ", FormatBytes(memory.all()), " of memory (",
             trains ? "parameters, gradients and optimizer " : "parameters ",
             FormatBytes(memory.parameters));
  if (trains) {
    StrAppend(&text, ", activations and workspace ", FormatBytes(double(memory.training->total())));
  }
  if (memory.testing) {
    StrAppend(&text, trains ? ", the same for testing " : ", activations and workspace ",
              FormatBytes(double(memory.testing->total())));
  }
  if (memory.all_others() > 0) {
    StrAppend(&text, ", copies and buffers ", FormatBytes(memory.all_others()));
  }
  return text + ")";
}

std::string WhatIsLeft(const AvailableMemory& available) {
  return StrCat(", but ", available.of, " has ", FormatBytes(double(available.bytes)), " left; ");
}

}  // namespace

absl::Status CheckMemory(const RunMemory& memory, const AvailableMemory& available, int ranks) {
  const double needed = memory.all() * ranks;
  if (needed <= double(available.bytes)) return absl::OkStatus();
  std::string text = WhatTakesHowMuch(memory);
  if (ranks > 1) {
    StrAppend(&text, " on each of ", ranks, " ranks of this host, ", FormatBytes(needed),
              " on all");
  }
  StrAppend(&text, WhatIsLeft(available), "a smaller RunOptions::training.batch takes less",
            memory.training ? " (RunOptions::training.accumulate_steps makes up for it)" : "",
            ", Run::Needs shows more, RunOptions::force runs anyway");
  return absl::ResourceExhaustedError(text);
}

absl::Status CheckMemoryOfThreads(const RunMemory& memory, double together,
                                  const AvailableMemory& available, int threads) {
  const double testing = double(memory.testing ? memory.testing->total() : 0);
  const double needed = (memory.all() - testing) * threads + testing + together;
  if (needed <= double(available.bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat(WhatTakesHowMuch(memory), " on each of ", Counted(int64_t{threads}, "thread"), ", ",
             FormatBytes(needed), " with all that they share", WhatIsLeft(available),
             "fewer threads (OMP_NUM_THREADS) or a smaller RunOptions::training.batch take less"));
}

}  // namespace dtnn
