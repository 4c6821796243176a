// Runs on images whose pixels have classes, from folders of images and masks.

#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "data/images/image.h"
#include "data/testing/idx_files.h"
#include "data/testing/mask_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/serving/saved_model.h"
#include "models/zoo/unet.h"

namespace dtnn {
namespace {

using testing::Contents;
using ::testing::HasSubstr;
using testing::NewFolder;
using testing::Outcome;
using testing::Process;

constexpr char kProgram[] = "apps/benchmark";
constexpr int kSide = 16, kTrain = 64, kTest = 8;

class BenchmarkPixelsTest : public ::testing::Test {
 protected:
  // Images with three classes, and a network that is small enough for a test.
  static void SetUpTestSuite() {
    root_ = NewFolder("pixels");
    testing::WriteMaskFolder(root_, kSide, kTrain, kTest);
    const auto context = DeviceContext::Create(Device::Cpu()).value();
    GraphBuilder b("small_unet", TensorFormat::kNHWC);
    b.Input({kSide, kSide, 3});
    AppendUNet(b, {.width = 4, .depth = 1}, 3);
    const Graph graph = b.Softmax().Build().value();
    const auto store = ParameterStore::Create(graph, *context, DType::kFloat32, 5).value();
    ASSERT_TRUE(SaveModel(root_ + "/new.safetensors", {.graph = graph}, *store, *context).ok());
  }

  static std::vector<std::string> Arguments(int epochs) {
    return {"--weights-and-bias-filename=" + root_ + "/new.safetensors",
            "--dataset=masks",
            "--dataset-path=" + root_,
            "--batch-size=8",
            "--optimizer=adam",
            "--learning-rate=0.01",
            "--augment=flip,pad_crop:2,cutout:3:zero",
            "--schedulers=",
            "--num-epochs=" + std::to_string(epochs)};
  }

  static inline std::string root_;
};

// A file that a program has written, decoded.
Image MaskIn(const std::string& path) {
  const std::string bytes = Contents(path);
  return DecodeMask({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, path)
      .value_or(Image{});
}

TEST_F(BenchmarkPixelsTest, FromFoldersToMasks) {
  const std::string folder = NewFolder("pixels_masks"), model = folder + "/m.safetensors";
  testing::WriteFile(root_, "classes.txt", testing::Bytes{'a', '\n', 'b', '\n', 'c', '\n'});
  std::vector<std::string> arguments = Arguments(40);
  arguments.insert(arguments.end(), {"--evaluate", "--save-model=" + model,
                                     "--metrics=categorical_accuracy,mean_iou,per_class_report"});
  const Outcome trained = Process(kProgram, arguments).Wait();
  std::filesystem::remove(root_ + "/classes.txt");
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("test_miou: "));
  const Outcome predicted =
      testing::Launch("apps/predict/predict", "--model-file=" + model + " --mask-dir=" + folder +
                                                  "/masks " + root_ + "/test/images");
  ASSERT_EQ(predicted.exit_code, 0) << predicted.text;
  int right = 0;
  for (int index = kTrain; index < kTrain + kTest; ++index) {
    const Image mask = MaskIn(folder + "/masks/" + std::to_string(index) + ".png");
    ASSERT_EQ(mask.extents, (ImageExtents{kSide, kSide, 1}));
    const std::vector<uint8_t> truth = testing::ShapesMask(kSide, index);
    for (size_t i = 0; i < truth.size(); ++i) right += mask.pixels[i] == truth[i];
  }
  EXPECT_GT(right, 0.95 * kTest * kSide * kSide) << trained.text;
}

// With all that moves labels, and the optimizer's state.
TEST_F(BenchmarkPixelsTest, AKilledRunGoesOnAsIfItHadNeverStopped) {
  const auto arguments = [&](const std::string& folder) {
    std::filesystem::create_directory(folder + "/checkpoints");
    std::vector<std::string> all = Arguments(60);
    all.insert(all.end(), {"--history-file=" + folder + "/history.jsonl",
                           "--checkpoint-dir=" + folder + "/checkpoints"});
    return all;
  };
  const std::string folder = NewFolder("pixels_killed"), whole = NewFolder("pixels_whole");
  std::vector<std::string> killed = arguments(folder);
  killed.push_back("--checkpoint-steps=20");
  testing::WatchedFolder checkpoints(folder + "/checkpoints");
  Process run(kProgram, killed);
  checkpoints.AwaitFile();
  run.Signal(SIGKILL);
  ASSERT_EQ(run.Wait().exit_code, 128 + SIGKILL);

  killed.push_back("--resume=if-there");  // beside the weights that it began with
  const Outcome resumed = Process(kProgram, killed).Wait();
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from "));
  const Outcome never_stopped = Process(kProgram, arguments(whole)).Wait();
  ASSERT_EQ(never_stopped.exit_code, 0) << never_stopped.text;
  EXPECT_EQ(Contents(folder + "/history.jsonl"), Contents(whole + "/history.jsonl"));
  const std::string last = "/checkpoints/checkpoint-420.npz";
  ASSERT_TRUE(std::filesystem::exists(whole + last)) << never_stopped.text;
  EXPECT_TRUE(Contents(folder + last) == Contents(whole + last));
}

TEST_F(BenchmarkPixelsTest, AMaskThatDoesNotFitEndsTheRunWithItsName) {
  const std::string root = NewFolder("pixels_broken");
  testing::WriteMaskFolder(root, kSide, 8, 2);
  testing::WriteFile(root + "/train/masks", "3.png", testing::EncodeMask(1, 1, testing::Bytes{1}));
  std::vector<std::string> arguments = Arguments(1);
  arguments[2] = "--dataset-path=" + root;
  arguments.push_back("--validation-split=0");
  const Outcome outcome = Process(kProgram, arguments).Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text,
              HasSubstr(root + "/train/masks/3.png: has 1 x 1 pixels, but its image, " + root +
                        "/train/images/3.png, has 16 x 16"));
}

}  // namespace
}  // namespace dtnn
