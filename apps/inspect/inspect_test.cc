#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/inspect/run.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/checkpoint/checkpoint.h"
#include "models/graph/freeze.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/files/array_file.h"
#include "tensor/files/npy_header.h"
#include "tensor/files/npz.h"
#include "tensor/files/safetensors.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TensorOf;

struct Outcome {
  absl::Status status;
  std::string out, errors;
};

Outcome Inspect(const std::vector<std::string>& files, const std::string& format = "text") {
  std::ostringstream out, errors;
  const absl::Status status = InspectFiles(files, format, out, errors);
  return {status, out.str(), errors.str()};
}

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(InspectTest, EveryArrayHasItsRange) {
  for (const char* name : {"ranges.npz", "ranges.safetensors"}) {
    const Tensor x = TensorOf(DType::kFloat32, Shape{2, 2}, {-1.5, 3, NAN, 0.75});
    const Tensor nothing = TensorOf(DType::kFloat64, Shape{1}, {INFINITY});
    ASSERT_TRUE(
        WriteArrayFile(Path(name), {{"x", x}, {"none", nothing}}, {{"__model__", "some"}}).ok());
    const Outcome text = Inspect({Path(name)});
    ASSERT_TRUE(text.status.ok()) << text.errors;
    EXPECT_THAT(text.out, HasSubstr("  __model__: some\n"));
    EXPECT_THAT(text.out, HasSubstr("  x      float32  (2, 2)                        -1.5          "
                                    "   3          0.75          1\n"));
    const Outcome json = Inspect({Path(name)}, "json");
    EXPECT_THAT(json.out, HasSubstr("\"tags\": {\"__model__\": \"some\"}"));
    EXPECT_THAT(json.out,
                HasSubstr("{\"key\": \"x\", \"dtype\": \"float32\", \"shape\": \"(2, 2)\", "
                          "\"elements\": 4, \"min\": -1.5, \"max\": 3, \"mean\": 0.75, "
                          "\"not_finite\": 1}"));
    EXPECT_THAT(json.out, HasSubstr("\"min\": null, \"max\": null, \"mean\": null, "
                                    "\"not_finite\": 1}"));
  }
}

TEST(InspectTest, CheckpointsSayWhereTheirRunStands) {
  auto context = *DeviceContext::Create(Device::Cpu());
  const Graph graph = *BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 3});
  auto store = *ParameterStore::Create(graph, *context, DType::kFloat32, 1);
  ASSERT_TRUE(store->AllocateForTraining(*context, 1).ok());
  RunState run = {.optimizer = "sgd"};
  run.training = {.epoch = 4, .step_in_epoch = 7, .steps_done = 47, .learning_rate = 0.125};
  run.training.schedulers["early_stopping"] = {0.5, 2};
  const std::string path = Path("checkpoint.npz");
  ASSERT_TRUE(SaveCheckpoint(path, graph, *store, *context, run).ok());
  const Outcome text = Inspect({path});
  ASSERT_TRUE(text.status.ok()) << text.errors;
  EXPECT_THAT(text.out, HasSubstr("  checkpoint: epoch 5, 7 steps of it done, 47 updates of all; "
                                  "optimizer sgd, learning rate 0.125, seed 0\n"
                                  "  scheduler early_stopping: 0.5, 2\n"));
  const Outcome json = Inspect({path}, "json");
  EXPECT_THAT(json.out, HasSubstr("\"checkpoint\": {\"epoch\": 4, \"step_in_epoch\": 7, "
                                  "\"steps_done\": 47, \"learning_rate\": 0.125, "));
  EXPECT_THAT(json.out, HasSubstr("\"schedulers\": {\"early_stopping\": [0.5, 2]}}"));
}

TEST(InspectTest, CheckpointsShowWhichLayersAreFrozen) {
  auto context = *DeviceContext::Create(Device::Cpu());
  SavedModel model = {
      .graph = *BuildModel("simplecnn", {.sample = ImageExtents{8, 8, 1}, .classes = 3})};
  const Graph frozen = *Freeze(model.graph, "1-5");
  auto store = *ParameterStore::Create(frozen, *context, DType::kFloat32, 1);
  ASSERT_TRUE(store->AllocateForTraining(*context, 1).ok());
  RunState run = {.optimizer = "sgd"};
  run.tags = ModelTags(model);
  const std::string path = Path("frozen.npz");
  ASSERT_TRUE(SaveCheckpoint(path, frozen, *store, *context, run).ok());
  const Outcome text = Inspect({path});
  ASSERT_TRUE(text.status.ok()) << text.errors;
  EXPECT_THAT(text.out, HasSubstr("  frozen layers: 1, 2, 5\n"));
  EXPECT_THAT(text.out, HasSubstr("|  5 *  |"));
  EXPECT_THAT(text.out, Not(HasSubstr("|  8 *  |")));
  EXPECT_THAT(text.out, HasSubstr("Trainable parameters"));
  EXPECT_THAT(Inspect({path}, "json").out, HasSubstr("\"frozen\": [1, 2, 5], \"schedulers\": {}"));
}

TEST(InspectTest, ModelsSayWhatTheyAre) {
  auto context = *DeviceContext::Create(Device::Cpu());
  SavedModel model = {
      .graph = *BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 2})};
  model.preprocessing.normalization = {{-0.5}, {2}};
  model.description = {.class_names = {"bright", "dark"},
                       .loss = "categorical_cross_entropy",
                       .training = {.dataset = "folder",
                                    .epochs = 3,
                                    .run_epochs = 5,
                                    .optimizer = "adam",
                                    .learning_rate = 0.25,
                                    .metrics = {{"val_categorical_accuracy", 0.5}}},
                       .written_by = "DTNN 0.1.0"};
  auto store = *ParameterStore::Create(model.graph, *context, DType::kFloat32, 1);
  const std::string path = Path("model.safetensors");
  ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
  const Outcome text = Inspect({path});
  ASSERT_TRUE(text.status.ok()) << text.errors;
  for (const char* line :
       {"  |   1   |        FlattenCPU        |",
        "  preprocessing: byte / 255, offset -0.5, scale 2\n",
        "  classes: bright, dark\n  written by: DTNN 0.1.0\n",
        "  training: 3 epochs (the best of 5) on folder, loss categorical_cross_entropy, optimizer "
        "adam, learning "
        "rate 0.25\n  val_categorical_accuracy: 0.5\n"}) {
    EXPECT_THAT(text.out, HasSubstr(line));
  }
  EXPECT_THAT(text.out, Not(HasSubstr("node {")));
  const Outcome json = Inspect({path}, "json");
  EXPECT_THAT(
      json.out,
      HasSubstr(
          "\"classes\": [\"bright\", \"dark\"], \"written_by\": \"DTNN 0.1.0\", \"loss\": "
          "\"categorical_cross_entropy\", \"training\": {\"dataset\": \"folder\", "
          "\"epochs\": 3, \"run_epochs\": 5, \"optimizer\": \"adam\", \"learning_rate\": 0.25, "
          "\"metrics\": {\"val_categorical_accuracy\": 0.5}}}"));
}

TEST(InspectTest, ARunThatKeepsItsLastEpochHasNoBest) {
  auto context = *DeviceContext::Create(Device::Cpu());
  SavedModel model = {
      .graph = *BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 2})};
  auto store = *ParameterStore::Create(model.graph, *context, DType::kFloat32, 1);
  const std::string path = Path("last.npz");
  for (const int64_t run_epochs : {0, 3}) {  // 0: a file of a version that did not write it
    model.description.training = {.dataset = "folder", .epochs = 3, .run_epochs = run_epochs};
    ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
    EXPECT_THAT(Inspect({path}).out, HasSubstr("  training: 3 epochs on folder, "));
    EXPECT_THAT(Inspect({path}, "json").out, HasSubstr("\"epochs\": 3, \"run_epochs\": 3, "));
  }
}

TEST(InspectTest, QuantizedModelsShowTheirRanges) {
  auto context = *DeviceContext::Create(Device::Cpu());
  SavedModel model = {
      .graph = *BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 2})};
  model.quantization = QuantizationRecord{.method = "minmax",
                                          .samples = 512,
                                          .ranges = {{3, {-0.5, 4}}},
                                          .in_float = {{2, "reads the network's input"}}};
  auto store = *ParameterStore::Create(model.graph, *context, DType::kFloat32, 1);
  const std::string path = Path("quantized.safetensors");
  ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
  const Outcome text = Inspect({path});
  EXPECT_THAT(text.out, HasSubstr("  int8: ranges of 512 samples, method minmax\n"
                                  "    2_FC stays in float32: reads the network's input\n"
                                  "    3_Relu                                -0.5 to 4\n"));
  EXPECT_THAT(text.out, Not(HasSubstr("float_layer")));
  EXPECT_THAT(Inspect({path}, "json").out,
              HasSubstr("\"int8\": {\"method\": \"minmax\", \"samples\": 512, \"ranges\": "
                        "{\"3\": [-0.5, 4]}, \"in_float\": {\"2\": \"reads the network's "
                        "input\"}}}"));
}

TEST(InspectTest, BrokenFilesAreNamedAndTheOthersShown) {
  const std::string good = Path("good.npz"), bad = Path("bad.npz"), cut = Path("cut.npz");
  ASSERT_TRUE(WriteArrayFile(good, {{"x", TensorOf(DType::kFloat32, Shape{1}, {1})}}, {}).ok());
  std::ofstream(bad) << "no archive";
  std::ostringstream bytes;
  bytes << std::ifstream(good).rdbuf();
  std::ofstream(cut) << bytes.str().substr(0, bytes.str().size() - 30);
  const Outcome outcome = Inspect({bad, cut, good, Path("none.npz"), "x.txt"});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_EQ(outcome.status.message(), "4 of 5 files cannot be read");
  for (const std::string& name : {bad, cut, Path("none.npz"), std::string("x.txt")}) {
    EXPECT_THAT(outcome.errors, HasSubstr("inspect: " + name));
  }
  EXPECT_TRUE(outcome.out.starts_with(good + "\n")) << outcome.out;
}

TEST(InspectTest, AFileOfAnotherKindIsSaidToBeOne) {
  const std::string image = Path("image.npz");
  std::ofstream(image) << "\xff\xd8\xff\xe0";
  const Outcome outcome = Inspect({image});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_EQ(outcome.status.message(), "");
  EXPECT_EQ(outcome.errors, "inspect: " + image +
                                ": is a JPEG image, which predict classifies; expected a model, "
                                "weights or a checkpoint (.npz, .safetensors)\n");
}

// The file keeps its other arrays, whatever type one of them has.
TEST(InspectTest, ArraysThatTensorsCannotHoldAreListedBesideTheOthers) {
  const Tensor x = TensorOf(DType::kFloat32, Shape{1}, {1.5});
  const std::string npz = Path("types.npz"), safetensors = Path("types.safetensors");
  const auto npy = [](const char* descr, size_t bytes) {
    return NpyHeaderBytes(descr, Shape{1}) + std::string(bytes, '\1');
  };
  ASSERT_TRUE(WriteNpz(npz, {{"x", x}}, NpzCompression::kStored, {},
                       {{"complex", npy("<c8", 8)},
                        {"objects", npy("|O", 8)},
                        {"words", npy("<U2", 8)},
                        {"yes", npy("|b1", 1)}})
                  .ok());
  ASSERT_TRUE(WriteSafetensors(safetensors, {{"x", x}}).ok());
  {  // one more tensor, by hand
    const std::string json = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("f8":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[4,6]},)"
                             R"("next":{"dtype":"F99","shape":[2],"data_offsets":[6,7]}})";
    const uint64_t length = json.size();
    std::ofstream(safetensors, std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&length), 8) << json
        << std::string("\0\0\xc0\x3f\1\2\3", 7);
  }
  const Outcome text = Inspect({npz, safetensors});
  EXPECT_TRUE(text.status.ok()) << text.errors;
  for (const char* line :
       {"  x        float32  (1,)", "  complex  not read: ", "types.npz/complex: dtype \"<c8\"",
        "types.npz/objects: contains Python objects", "types.npz/words: dtype \"<U2\" (text)",
        "  yes      int32    (1,)                             1", "types.safetensors/\"f8\": dtype",
        "types.safetensors/\"next\": dtype \"F99\"",
        "  x      float32  (1,)                           1.5"}) {
    EXPECT_THAT(text.out, HasSubstr(line));
  }
  const Outcome json = Inspect({npz}, "json");
  EXPECT_THAT(json.out, HasSubstr("{\"key\": \"complex\", \"not_read\": \""));
  EXPECT_THAT(json.out, HasSubstr("\"min\": 1.5"));
}

TEST(InspectTest, ADamagedArrayIsAnErrorBesideTheOthers) {
  const std::string path = Path("damaged.npz");
  ASSERT_TRUE(WriteArrayFile(path,
                             {{"a", TensorOf(DType::kFloat32, Shape{1}, {1.5})},
                              {"b", TensorOf(DType::kFloat32, Shape{1}, {2.5})}},
                             {})
                  .ok());
  std::ostringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  std::string text = bytes.str();
  text[30 + 5 + 128] ^= 1;  // behind the local header and that of numpy
  std::ofstream(path) << text;
  const Outcome outcome = Inspect({path});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_EQ(outcome.status.message(), "") << "one file, one line";
  EXPECT_THAT(outcome.errors, HasSubstr("damaged.npz/a: CRC error"));
  EXPECT_THAT(outcome.out, HasSubstr("  b      float32  (1,)                           2.5"));
}

TEST(InspectTest, WrongUseIsSaid) {
  EXPECT_EQ(ExitCodeOf(Inspect({}).status), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Inspect({"x.npz"}, "xml").status), kExitUsage);
}

}  // namespace
}  // namespace dtnn
