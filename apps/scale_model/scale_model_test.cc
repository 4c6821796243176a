#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/scale_model/machine.h"
#include "apps/scale_model/run.h"
#include "apps/scale_model/steps.h"
#include "apps/scale_model/table.h"
#include "apps/testing/mpi_job.h"
#include "apps/testing/process.h"
#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/observe/trace/event_log.h"
#include "models/serving/saved_model.h"
#include "models/serving/testing/overstated_model.h"
#include "models/zoo/unet.h"
#include "models/zoo/zoo.h"
#include "tensor/status_macros.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Launch;
using testing::MpiJob;
using ::testing::Not;
using testing::Outcome;
using testing::RankExitCode;

constexpr char kProgram[] = "apps/scale_model/scale_model";

int Count(const std::string& in, const std::string& text) {
  int count = 0;
  for (size_t at = 0; (at = in.find(text, at)) != std::string::npos; at += text.size()) ++count;
  return count;
}

// 4 MiB of gradients in four layers, final at 1, 2, 3 and 4 ms.
StepProfile Profile() {
  return {.ready = {{3 << 18, 1e-3}, {2 << 18, 2e-3}, {1 << 18, 3e-3}, {0, 4e-3}},
          .backward_seconds = 4e-3,
          .update_seconds = 1e-3,
          .elements = 4 << 18};
}

Cluster Ethernet(int64_t ranks) {
  return {.ranks = ranks, .network = {.latency = 50e-6, .seconds_per_byte = 8e-10}};
}

TEST(ScaleModelTableTest, TheBestBucketIsNoWorseThanAny) {
  for (const bool blocking : {false, true}) {
    const LinkCost ring = AllReduceCost(AllReduceAlgorithm::kRing, Ethernet(16));
    const ScalePrediction best = PredictScale(Profile(), ring, {.blocking = blocking});
    for (int64_t bytes = 64 << 10; bytes <= 4 << 20; bytes *= 2) {
      const ScalePrediction given =
          PredictScale(Profile(), ring, {.bucket_bytes = bytes, .blocking = blocking});
      EXPECT_EQ(given.bucket_bytes, bytes);
      EXPECT_GE(1.0011 * given.step.seconds, best.step.seconds) << bytes;
    }
    if (blocking) {
      EXPECT_EQ(best.bucket_bytes, 4 << 20);
    } else {
      EXPECT_LT(best.bucket_bytes, 4 << 20);
    }
  }
}

TEST(ScaleModelTableTest, ALinePerPowerOfTwo) {
  const std::string text =
      FormatScale(Profile(), Ethernet(1), {}, ScaleAlgorithms("all"), 64, 4096);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 13) << text;
  EXPECT_THAT(text,
              HasSubstr("\n      1        5.00  100.0%        5.00  100.0%        5.00  100.0%"
                        "  -                           -    0.00 ms      12800.0\n"));
  // At so many ranks latency decides, and the two that are not rings agree.
  const double seconds =
      PredictScale(Profile(), ScaleAlgorithms("vdg")[0].cost(Ethernet(4096)), {}).step.seconds;
  const std::string last = text.substr(text.find("\n   4096"));
  EXPECT_EQ(Count(last, absl::StrFormat(" %.2f ", seconds * 1e3)), 2) << last;
  EXPECT_THAT(last, HasSubstr("%  halving-doubling "));
}

TEST(ScaleModelTableTest, OneAlgorithmIsOneColumn) {
  const std::string tree =
      FormatScale(Profile(), Ethernet(1), {.blocking = true}, ScaleAlgorithms("bta"), 64, 4);
  EXPECT_THAT(tree, HasSubstr("  binomial tree "));
  EXPECT_THAT(tree, Not(HasSubstr("ring")));
  EXPECT_EQ(Count(tree, "ms/step"), 1);
  // Two levels up and two down, of whole messages.
  const double exchange = 2 * 2 * (50e-6 + (4 << 20) * 8e-10);
  EXPECT_THAT(tree, HasSubstr(absl::StrFormat("\n      4 %11.2f ", 1e3 * (5e-3 + exchange))));
  EXPECT_THAT(FormatScale(Profile(), Ethernet(1), {}, ScaleAlgorithms("vdg"), 64, 4),
              HasSubstr("halving-doubling"));
}

TEST(ScaleModelTableTest, NodesAreFullWhereThereIsMoreThanOne) {
  Cluster cluster = Ethernet(1);
  cluster.ranks_per_node = 12;
  const std::string text = FormatScale(Profile(), cluster, {}, ScaleAlgorithms("all"), 64, 100);
  std::istringstream lines(text);
  std::string ranks;
  for (std::string line; std::getline(lines, line);) ranks += line.substr(0, 7);
  EXPECT_EQ(ranks, "         ranks      1      2      4      8     12     24     48     96");
}

TEST(ScaleModelTableTest, ErrorsHaveTheSignOfThePrediction) {
  const ScalePrediction predicted = {.step = {.seconds = 0.11, .exposed_seconds = 0.01}};
  const StepPrediction measured = {.seconds = 0.1, .exposed_seconds = 0.02};
  EXPECT_THAT(FormatCheck(3, predicted, measured),
              HasSubstr("\n      3    110.00 ms    100.00 ms   +10.0%"));
  EXPECT_THAT(FormatCheck(3, {.step = measured}, predicted.step), HasSubstr("   -9.1%"));
}

TEST(ScaleModelStepsTest, EventsFollowTheBackwardPass) {
  for (const std::string model : {"simplemlp", "resnet20_cifar10", "googlenet_cifar10"}) {
    Options options;
    options.network.name = model;
    options.training.batch = 1;
    const auto steps = ScaleModelSteps::Create(options);
    ASSERT_TRUE(steps.ok()) << steps.status();
    const absl::StatusOr<StepProfile> profile = (*steps)->Profile(nullptr, 1);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->ready.size(), (*steps)->EventLayers().size()) << model;
    ASSERT_FALSE(profile->ready.empty());
    int64_t from = profile->elements;
    double seconds = 0;
    for (const StepProfile::Event& event : profile->ready) {
      EXPECT_LT(event.from, from);
      EXPECT_GT(event.seconds, seconds);
      from = event.from;
      seconds = event.seconds;
    }
    EXPECT_EQ(from, 0);
    EXPECT_GE(profile->backward_seconds, seconds);
    EXPECT_GT(profile->update_seconds, 0);
  }
}

// Blocking, no exchange begins before the gradients of all layers are there; else the first does.
TEST(ScaleModelStepsTest, ComparesWithTheExchangeThatWasAskedFor) {
  for (const bool blocking : {true, false}) {
    SCOPED_TRACE(blocking);
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      Options options;
      options.network.name = "simplemlp";
      options.training.batch = 1;
      DTNN_ASSIGN_OR_RETURN(const auto steps, ScaleModelSteps::Create(options));
      EventLog log;
      {
        const ScopedObserver watching(&log);
        DTNN_RETURN_IF_ERROR(
            steps->Compare(communicator, {.bucket_bytes = 64 << 10, .blocking = blocking}, 1)
                .status());
      }
      // A layer's backward pass directly after an exchange: of the same step, as steps begin with
      // forward passes.
      int64_t exchanges = 0, followed = 0;
      Activity last = Activity::kForward;
      for (const auto& [event, thread] : log.Events()) {
        exchanges += event.activity == Activity::kExchange;
        const bool backward = event.activity == Activity::kBackward;
        followed += backward && last == Activity::kExchange;
        if (backward || event.activity == Activity::kForward ||
            event.activity == Activity::kExchange) {
          last = event.activity;
        }
      }
      EXPECT_GT(exchanges, 3 * std::ssize(steps->EventLayers())) << "several buckets";
      if (blocking) {
        EXPECT_EQ(followed, 0);
      } else {
        EXPECT_GT(followed, 0);
      }
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::OkStatus());
  }
}

TEST(ScaleModelStepsTest, FrozenLayersHaveNoGradients) {
  Options options;
  options.network.name = "simplecnn";
  options.training.batch = 1;
  options.network.freeze = "1-5";
  const auto steps = ScaleModelSteps::Create(options);
  ASSERT_TRUE(steps.ok()) << steps.status();
  const absl::StatusOr<StepProfile> profile = (*steps)->Profile(nullptr, 1);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_THAT((*steps)->EventLayers(), ElementsAre("layer 8 (FC)"));
  EXPECT_EQ(profile->ready.size(), 1u);
  EXPECT_EQ(profile->elements, 128 * 10 + 16) << "parameters are aligned to cache lines";
}

TEST(ScaleModelStepsTest, ASavedModelIsItsOwnNetwork) {
  SavedModel model = {
      .graph = *BuildModel("simplemlp", {.sample = ImageExtents{5, 4, 1}, .classes = 3}),
      .dtype = DType::kFloat64};
  model.description.loss = "binary_cross_entropy";
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(model.graph, *context, model.dtype, 1);
  const std::string path = ::testing::TempDir() + "/scale_model.safetensors";
  ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
  Options options;
  options.training.batch = 1;
  options.network.freeze = "2_FC";
  const auto steps = ScaleModelSteps::Create(options, path);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ((*steps)->graph().input_shape(), (Shape{5, 4, 1}));
  EXPECT_EQ((*steps)->Profile(nullptr, 1)->dtype, DType::kFloat64);
  EXPECT_THAT((*steps)->EventLayers(), Not(Contains("layer 2 (FC)")));
  EXPECT_THAT((*steps)->EventLayers(), Not(ElementsAre()));
  options.network.dtype = DType::kFloat32;
  EXPECT_EQ((*ScaleModelSteps::Create(options, path))->Profile(nullptr, 1)->dtype, DType::kFloat32);
}

TEST(ScaleModelStepsTest, PixelsHaveTargets) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("pixels", format);
    b.Input({4, 8, 2});
    AppendUNet(b, {.width = 2, .depth = 1}, 3);
    SavedModel model = {.graph = *b.Softmax().Build(), .dtype = DType::kFloat32};
    model.description.loss = "categorical_cross_entropy";
    const auto context = *DeviceContext::Create(Device::Cpu());
    const auto store = *ParameterStore::Create(model.graph, *context, model.dtype, 1);
    const std::string path = ::testing::TempDir() + "/pixels.safetensors";
    ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
    Options options;
    options.training.batch = 2;
    const auto steps = ScaleModelSteps::Create(options, path);
    ASSERT_TRUE(steps.ok()) << steps.status();
    const absl::StatusOr<StepProfile> profile = (*steps)->Profile(nullptr, 1);
    EXPECT_TRUE(profile.ok()) << profile.status();
  }
}

ScaleModelOptions Small() {
  ScaleModelOptions options;
  options.run.network.name = "simplemlp";
  options.run.training.batch = 2;
  options.run.sync.blocking = false;
  options.steps = 1;
  options.max_ranks = 8;
  return options;
}

TEST(ScaleModelRunTest, AloneItTakesTheNetworkAsGiven) {
  ScaleModelOptions options = Small();
  options.network_lat = 12.5e-6;
  options.ranks_per_node = 2;
  options.node_lat = 2e-6;
  options.node_bw = 8e9;
  options.layers = true;
  std::ostringstream out;
  const absl::Status status = RunScaleModel(options, nullptr, out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(out.str(), HasSubstr("**** simplemlp, 2 samples of (28, 28, 1) per rank"));
  EXPECT_THAT(out.str(),
              HasSubstr("12.5 us,   10.00 Gbit/s  (latency as given, the other assumed)"));
  EXPECT_THAT(out.str(), HasSubstr("2.0 us,   64.00 Gbit/s  (as given)"));
  EXPECT_THAT(out.str(), HasSubstr("(FC)"));
  EXPECT_THAT(out.str(), HasSubstr("\n      8 "));
  EXPECT_THAT(out.str(), Not(HasSubstr("measured")));
}

TEST(OtherMachineTest, LayersReachTheSameShareOfTheirBounds) {
  const std::vector<LayerFacts> layers = {
      {.forward_flops = 1e15, .backward_flops = 1e15, .parameter_bytes = 8, .last_gradient = 2}};
  const OtherMachine same = *MeasureOtherMachine({}, layers, 4, DType::kFloat32, nullptr);
  EXPECT_GT(same.here.flops, 0);
  EXPECT_GT(same.here.bytes, 0);
  EXPECT_EQ(same.passes, 1);
  EXPECT_EQ(same.update, 1);
  const double slow = same.here.flops / 10, narrow = same.here.bytes / 1000;
  const OtherMachine other = *MeasureOtherMachine({.cpu_speed = slow, .memory_bw = narrow}, layers,
                                                  4, DType::kFloat32, nullptr);
  EXPECT_EQ(other.there.flops, slow);
  EXPECT_DOUBLE_EQ(other.passes, other.here.flops / slow);
  EXPECT_DOUBLE_EQ(other.update, other.here.bytes / narrow);
  const StepProfile there = other.Apply(Profile());
  EXPECT_DOUBLE_EQ(there.backward_seconds, other.passes * 4e-3);
  EXPECT_DOUBLE_EQ(there.ready[1].seconds, other.passes * 2e-3);
  EXPECT_DOUBLE_EQ(there.update_seconds, other.update * 1e-3);
}

TEST(ScaleModelRunTest, AnotherMachineIsPredicted) {
  ScaleModelOptions options = Small();
  options.machine = {.cpu_speed = 5e9, .memory_bw = 3e9};
  options.network_alg = "bta";
  std::ostringstream out;
  const absl::Status status = RunScaleModel(options, nullptr, out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(out.str(), HasSubstr("\n  on a machine of 5.0 GFLOP/s whose copies move 3.0 GB/s ("));
  EXPECT_THAT(out.str(), HasSubstr("  adding gradients: 1.0 GB/s"));
  EXPECT_THAT(out.str(), HasSubstr("  binomial tree "));
}

TEST(ScaleModelRunTest, SeveralRanksCheckThemselvesAndOneSpeaks) {
  std::array<std::ostringstream, 2> out;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    return RunScaleModel(Small(), &communicator, out[size_t(communicator.rank())]);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(out[0].str(), HasSubstr("(measured between ranks 0 and 1)"));
  EXPECT_THAT(out[0].str(), HasSubstr("**** All-reduces of these ranks"));
  EXPECT_THAT(out[0].str(), HasSubstr("**** Steps of these ranks"));
  EXPECT_EQ(out[1].str(), "");
}

TEST(ScaleModelTest, MistakesAreUsageErrors) {
  const auto fails = [](const std::string& arguments, const std::string& message) {
    const Outcome outcome = Launch(kProgram, arguments);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("scale_model: " + message));
  };
  fails("--model=simplecnnn",
        "--model=simplecnnn: unknown model \"simplecnnn\"; did you mean \"simplecnn8\"? "
        "(--model=list shows all ");
  fails("--dataset=mnits", "--dataset=mnits: ");
  fails("--optimizer=foo", "--optimizer=foo: ");
  fails("--batch-size=0", "--batch-size=0: must be a whole number >= 1");
  fails("--comm-bucket-mb=0", "--comm-bucket-mb=0: must be auto or a number > 0");  // as there
  fails("--network-lat=-1", "--network-lat=-1: must be a real number >= 0");
  fails("--network-latt=1", "--network-latt: no such option; did you mean --network-lat?");
  fails("--network-alg=vgd", "--network-alg=vgd: ");
  // The formulas count messages rank by rank.
  fails("--max-ranks=1000000000",
        "--max-ranks=1000000000: must be a whole number >= 1 and <= 1048576");
  fails("--model-file=m.npz --model=simplecnn",
        "--model and --model-file: cannot be used together; give one of them");
  fails("--model-file=m.npz --dataset=mnist", "--dataset and --model-file: ");
  fails("--freeze=7_FC --model=simplecnn", "--freeze: \"7_FC\" matches no layer");
  const Outcome missing = Launch(kProgram, "--model-file=/none/m.npz");
  EXPECT_EQ(missing.exit_code, kExitFailed);
  EXPECT_THAT(missing.text, HasSubstr("scale_model: /none/m.npz: "));
  const std::string overstated = testing::NewFolder("scale_model") + "/net.safetensors";
  const std::string message = testing::SaveOverstatedModel(overstated);
  EXPECT_THAT(Launch(kProgram, "--model-file=" + overstated).text,
              HasSubstr("scale_model: " + message + "\n"));
  const Outcome help = Launch(kProgram, "--help");
  EXPECT_EQ(help.exit_code, kExitDone);
  EXPECT_THAT(
      help.text,
      HasSubstr("--max-ranks=RANKS                  largest number of ranks to predict [4096]"));
}

TEST(ScaleModelTest, EachFlagHasItsEffect) {
  const Outcome outcome =
      Launch(kProgram,
             "--model=simplemlp --batch-size=1 --steps=1 --dtype=float64 --layers --max-ranks=4 "
             "--cpu-speed=5e9 --memory-bw=3e9 --use-blocking-mpi=True --network-lat=12.5e-6 "
             "--network-bw=2e9 --ranks-per-node=2 --node-lat=2e-6 --node-bw=8e9 --network-alg=bta");
  ASSERT_EQ(outcome.exit_code, kExitDone) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** simplemlp, 1 sample of (28, 28, 1) per rank, float64"));
  EXPECT_THAT(outcome.text, HasSubstr("layer 2 (FC)"));
  EXPECT_THAT(outcome.text,
              HasSubstr("  on a machine of 5.0 GFLOP/s whose copies move 3.0 GB/s (here "));
  EXPECT_THAT(outcome.text, HasSubstr("12.5 us,   16.00 Gbit/s  (as given)"));
  EXPECT_THAT(outcome.text, HasSubstr("2.0 us,   64.00 Gbit/s  (as given)"));
  EXPECT_THAT(outcome.text, HasSubstr("ranks per node: 2\n"));
  EXPECT_THAT(outcome.text, HasSubstr("with the exchange after the backward pass\n"));
  EXPECT_THAT(outcome.text, HasSubstr("  binomial tree "));
  EXPECT_THAT(outcome.text, HasSubstr("\n      4 "));
  EXPECT_THAT(outcome.text, Not(HasSubstr("\n      8 ")));
  // A variant that cannot compute the network is known by its name alone.
  const Outcome wrong = Launch(kProgram, "--model=simplecnn --batch-size=1 --conv-variant=cudnn");
  EXPECT_NE(wrong.exit_code, kExitDone);
  EXPECT_THAT(wrong.text, HasSubstr("cudnn"));
}

TEST(ScaleModelTest, ListsAreThoseOfTheLauncher) {
  for (const std::string list : {"--model=list", "--dataset=list"}) {
    const Outcome outcome = Launch(kProgram, list);
    EXPECT_EQ(outcome.exit_code, kExitDone) << outcome.text;
    EXPECT_EQ(outcome.text, Launch("apps/benchmark", list).text);
  }
}

TEST(ScaleModelTest, RanksOfMpirunAreMeasured) {
  const Outcome outcome =
      MpiJob(kProgram, {"--model=simplemlp", "--batch-size=2", "--steps=1"}, {.ranks = 2}).Wait();
  ASSERT_EQ(outcome.exit_code, kExitDone) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "**** Steps of these ranks"), 1) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("  within a node: "));
  const Outcome wrong = MpiJob(kProgram, {"--model=vgg61"}, {.ranks = 2}).Wait();
  for (const int rank : {0, 1}) EXPECT_EQ(RankExitCode(wrong, rank), kExitUsage) << wrong.text;
  EXPECT_EQ(Count(wrong.text, "unknown model"), 1) << wrong.text;
}

TEST(ScaleModelTest, ARankWithAWrongFlagOfItsOwnTellsTheUser) {
  const Outcome outcome = MpiJob(kProgram, {"--model=simplemlp", "--batch-size=2", "--steps=1"},
                                 {.ranks = 2, .odd_rank = 1, .odd_argument = "--steps=0"})
                              .Wait();
  for (const int rank : {0, 1}) {
    EXPECT_EQ(RankExitCode(outcome, rank), kExitUsage) << outcome.text;
  }
  EXPECT_EQ(Count(outcome.text, "scale_model: rank 1: --steps=0: "), 1) << outcome.text;
}

TEST(ScaleModelRunTest, BucketsAreAsForTheLauncher) {
  ScaleModelOptions options = Small();
  options.run.sync.bucket_mb = "0.375";
  std::ostringstream out;
  const absl::Status status = RunScaleModel(options, nullptr, out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(out.str(), HasSubstr(" 384 KiB "));
}

}  // namespace
}  // namespace dtnn
