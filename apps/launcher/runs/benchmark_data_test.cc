// What the launcher does with data that are small, odd, in other people's layout, or cut while it
// trains; and what it says in its files of how it showed them.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/testing/mpi_job.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::WriteFile;

constexpr char kProgram[] = "apps/benchmark";

// In the form of MNIST, `train` images of which class i % 10 is as bright as it is high.
std::string WriteImages(uint32_t train, uint32_t test = 8) {
  constexpr uint32_t kSide = 28;
  const std::string folder = NewFolder("images");
  const auto write = [&](const std::string& part, uint32_t count) {
    Bytes pixels, labels;
    for (uint32_t i = 0; i < count; ++i) {
      pixels.insert(pixels.end(), kSide * kSide, uint8_t(20 * (i % 10)));
      labels.push_back(uint8_t(i % 10));
    }
    WriteFile(folder, part + "-images-idx3-ubyte",
              testing::IdxBytes({count, kSide, kSide}, pixels));
    WriteFile(folder, part + "-labels-idx1-ubyte", testing::IdxBytes({count}, labels));
  };
  write("train", train);
  write("t10k", test);
  return folder;
}

std::string RunOf(const std::string& data) {
  return "--model=simplemlp --dataset=mnist --dataset-path=" + data + " --batch-size=16 ";
}

TEST(BenchmarkDataTest, AFileThatIsCutWhileItTrainsEndsItWithAMessageAndACheckpoint) {
  const std::string data = WriteImages(256), folder = NewFolder("cut");
  const std::string images = data + "/train-images-idx3-ubyte";
  std::filesystem::copy_file(images, folder + "/whole");
  testing::WatchedFolder checkpoints(folder);
  testing::Process run(kProgram, {"--model=simplemlp", "--dataset=mnist", "--dataset-path=" + data,
                                  "--batch-size=16", "--num-epochs=1000000",
                                  "--checkpoint-dir=" + folder, "--schedulers="});
  checkpoints.AwaitFile();
  std::filesystem::resize_file(images, 4096);
  const Outcome outcome = run.Wait();
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  const std::string saved = "; --resume continues from ";
  EXPECT_THAT(outcome.text, HasSubstr("benchmark: " + images + ": was truncated"));
  const size_t at = outcome.text.find(saved);
  ASSERT_NE(at, std::string::npos) << outcome.text;
  const size_t begin = at + saved.size();
  const std::string path = outcome.text.substr(begin, outcome.text.find('\n', begin) - begin);
  EXPECT_TRUE(std::filesystem::exists(path)) << path;

  std::filesystem::copy_file(folder + "/whole", images,
                             std::filesystem::copy_options::overwrite_existing);
  const Outcome resumed = testing::Launch(
      kProgram, RunOf(data) + "--schedulers= --num-epochs=1 --resume --checkpoint-dir=" + folder);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
}

// All ranks of a machine map the same file, so none may be left that has not lost it.
TEST(BenchmarkDataTest, RanksThatAllLoseAFileStillLeaveACheckpoint) {
  const std::string data = WriteImages(256), folder = NewFolder("cut_ranks");
  testing::WatchedFolder checkpoints(folder);
  testing::MpiJob job(kProgram,
                      {"--parallel=data", "--model=simplemlp", "--dataset=mnist",
                       "--dataset-path=" + data, "--batch-size=16", "--num-epochs=1000000",
                       "--checkpoint-dir=" + folder, "--schedulers=", "--comm-timeout=6"},
                      {.ranks = 2, .recovery = true});
  checkpoints.AwaitFile();
  std::filesystem::resize_file(data + "/train-images-idx3-ubyte", 4096);
  const Outcome outcome = job.Wait();
  EXPECT_THAT(outcome.text, HasSubstr("train-images-idx3-ubyte: was truncated"));
  EXPECT_THAT(outcome.text, HasSubstr("; --resume continues from " + folder));
  EXPECT_THAT(
      std::vector<int>({testing::RankExitCode(outcome, 0), testing::RankExitCode(outcome, 1)}),
      ::testing::Contains(kExitFailed))
      << outcome.text;
}

// A rotation by no degrees changes nothing, but the CPU has to prepare samples for it.
TEST(BenchmarkDataTest, AGpuThatGetsBytesLearnsWhatItWouldOfValues) {
  const std::string data = NewFolder("noise");
  for (const std::string part : {"train", "t10k"}) {
    Bytes labels;
    for (int i = 0; i < 40; ++i) labels.push_back(uint8_t(i % 10));
    WriteFile(data, part + "-images-idx3-ubyte",
              testing::IdxBytes({40, 28, 28}, testing::Elements(40 * 28 * 28)));
    WriteFile(data, part + "-labels-idx1-ubyte", testing::IdxBytes({40}, labels));
  }
  const auto pictures = [](const std::string& page) {
    std::string found;
    const std::string begin = "data:image/png;base64,";
    for (size_t at = 0; (at = page.find(begin, at)) != page.npos; ++at) {
      found += page.substr(at, page.find('"', at) - at);
    }
    return found;
  };
  struct Run {
    std::string text, history, pictures;
  };
  const auto run = [&](const std::string& augment) {
    const std::string folder = NewFolder("bytes" + std::to_string(augment.size()));
    const Outcome outcome = testing::Launch(
        kProgram, RunOf(data) +
                      "--num-epochs=2 --verbose --standardize --schedulers= --enable-gpu "
                      "--gpu-device=simulated --history-file=" +
                      folder + "/h.csv --report=" + folder + "/r.html --tensorboard-dir=" + folder +
                      "/board --augment=" + augment);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return Run{outcome.text, testing::Contents(folder + "/h.csv"),
               pictures(testing::Contents(folder + "/r.html"))};
  };
  const Run bytes = run("flip,pad_crop:3"), values = run("flip,pad_crop:3,rotate:0");
  EXPECT_THAT(bytes.text, HasSubstr("ahead, of 16 samples, as bytes, which the GPU prepares\n"));
  EXPECT_THAT(
      values.text,
      HasSubstr("ahead, of 16 samples, prepared by the CPU, as rotate:0 computes values\n"));
  EXPECT_EQ(bytes.history, values.history);
  EXPECT_EQ(bytes.pictures, values.pictures);
  EXPECT_THAT(bytes.pictures, HasSubstr("base64")) << "of images that were taken for others";
}

TEST(BenchmarkDataTest, AFewSamplesAreEnough) {
  for (const uint32_t samples : {1u, 2u, 3u}) {
    const Outcome outcome =
        testing::Launch(kProgram, RunOf(WriteImages(samples)) + "--num-epochs=2");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text,
                HasSubstr("warning: --validation-split=0.2: leaves no validation samples out of "));
    EXPECT_THAT(outcome.text, HasSubstr("; schedulers watch the training metrics instead"));
  }
  EXPECT_THAT(testing::Launch(kProgram, RunOf(WriteImages(5))).text,
              Not(HasSubstr("schedulers w")));
}

TEST(BenchmarkDataTest, FilesSayWhatTheNetworkWasShown) {
  const std::string data = WriteImages(100), folder = NewFolder("preprocessing");
  const std::string run = RunOf(data) + "--evaluate ";
  const Outcome trained =
      testing::Launch(kProgram, run +
                                    "--standardize --schedulers=model_checkpoint "
                                    "--model-checkpoint-save-freq=1 --model-dir=" +
                                    folder + " --checkpoint-dir=" + folder + "/c");
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("**** Standardising: mean 0.3"));
  const std::string said =
      R"(__preprocessing__: {"x":"byte / 255","channels":"RGB","offset":[-0.3)";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".npz") files.push_back(entry.path().string());
  }
  ASSERT_EQ(files.size(), 2u) << "a model and a checkpoint";
  for (const std::string& file : files) {
    EXPECT_THAT(testing::Launch("apps/inspect/inspect", file).text, HasSubstr(said));
    const std::string weights = "--evaluate-only --weights-and-bias-filename=" + file;
    const std::string otherwise = testing::Launch(kProgram, run + weights).text;
    EXPECT_THAT(
        otherwise,
        HasSubstr(file +
                  ": was trained on samples that are preprocessed in another way (byte / 255, "
                  "offset -0.3"));
    EXPECT_THAT(
        otherwise,
        HasSubstr(") than those of this run (byte / 255, not normalised); see --normalize, "));
    EXPECT_THAT(testing::Launch(kProgram, run + weights + " --standardize").text,
                Not(HasSubstr("preprocessed in another way")));
  }
}

// The lines of an evaluation that tell its metrics.
std::string Tested(const std::string& text) {
  const size_t at = text.rfind("test_cce");
  return at == std::string::npos ? "none" : text.substr(at, text.find('\n', at) - at);
}

TEST(BenchmarkDataTest, AModelsFileIsAllThatEvaluationNeeds) {
  const std::string data = WriteImages(100), folder = NewFolder("model_file");
  const std::string file = folder + "/m.safetensors";
  const std::string where = "--dataset=mnist --dataset-path=" + data;
  const Outcome trained = testing::Launch(
      kProgram,
      "--model=simplecnn --evaluate --standardize --transform-resize "
      "--transform-resize-size=20 --dtype=float64 --tensor-format=NCHW --save-model=" +
          file + " " + where);
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("**** Saved the model as " + file + "\n"));
  const Outcome tested = testing::Launch(
      kProgram, "--evaluate-only --weights-and-bias-filename=" + file + " " + where);
  EXPECT_EQ(tested.exit_code, 0) << tested.text;
  EXPECT_EQ(Tested(tested.text), Tested(trained.text));
  EXPECT_THAT(tested.text, Not(HasSubstr("warning")));

  // Parameters alone become a model; a model stays what it says of its training.
  const auto inspected = [&](const std::string& flags, const std::string& saved) {
    const Outcome outcome =
        testing::Launch(kProgram, "--evaluate-only --weights-and-bias-filename=" + file +
                                      " --save-model=" + saved + flags + " " + where);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return testing::Launch("apps/inspect/inspect", saved).text;
  };
  EXPECT_THAT(inspected("", folder + "/same.npz"), HasSubstr("  training: 1 epoch on mnist, loss"));
  EXPECT_THAT(inspected(" --model=simplecnn --transform-resize --transform-resize-size=20",
                        folder + "/other.npz"),
              HasSubstr("  loss: categorical_cross_entropy\n"));

  const Outcome other =
      testing::Launch(kProgram, "--dataset=synthetic --weights-and-bias-filename=" + file);
  EXPECT_EQ(other.exit_code, kExitFailed);
  EXPECT_THAT(other.text, HasSubstr(file + ": its network takes samples of 20x20x1"));
}

TEST(BenchmarkDataTest, AModelThatCannotBeSavedShowsBeforeTraining) {
  for (const char* file : {"model.txt", "/none/model.npz"}) {
    const Outcome outcome = testing::Launch(
        kProgram, std::string("--model=simplemlp --dataset=synthetic --save-model=") + file);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, HasSubstr("--save-model"));
    EXPECT_THAT(outcome.text, Not(HasSubstr("Training")));
  }
}

// x (n, height, width, 3) and y (n, 1), as keras.datasets gives them.
TEST(BenchmarkDataTest, AnArchiveInKerasLayoutIsImagesAndClasses) {
  constexpr int64_t kSamples = 20;
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{kSamples, 8, 8, 3}).value();
  const Tensor y = Tensor::Zeros(DType::kInt64, Shape{kSamples, 1}).value();
  for (int64_t i = 0; i < kSamples; ++i) y.data<int64_t>()[i] = i % 4;
  const std::string path = NewFolder("keras") + "/data.npz";
  ASSERT_TRUE(WriteNpz(path, {{"x_train", x}, {"y_train", y}}).ok());
  const Outcome outcome =
      testing::Launch(kProgram, "--model=simplemlp --dataset=archive --dataset-path=" + path);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("(8, 8, 3)"));
  EXPECT_THAT(outcome.text, HasSubstr("(4,)"));
  EXPECT_THAT(outcome.text, HasSubstr("val_acc: "));
}

TEST(BenchmarkDataTest, APipeIsNoFileOfWeights) {
  for (const char* name : {"/w.npz", "/w.safetensors"}) {
    const std::string pipe = NewFolder("pipe") + name;
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const Outcome outcome = testing::Launch(
        kProgram, "--model=simplemlp --dataset=synthetic --weights-and-bias-filename=" + pipe);
    EXPECT_EQ(outcome.exit_code, kExitFailed);
    EXPECT_THAT(outcome.text, HasSubstr(pipe + ": is a pipe, not a regular file"));
  }
}

TEST(BenchmarkDataTest, WeightsOfPyTorchAreRefusedWithTheCommandThatReadsThem) {
  const std::string root = NewFolder("torch"), file = root + "/r18.pth";
  WriteFile(root, "r18.pth", Bytes{1, 2, 3});
  for (const char* more : {"", " --dry-run"}) {
    const Outcome outcome = testing::Launch(
        kProgram,
        "--model=simplemlp --dataset=synthetic --weights-and-bias-filename=" + file + more);
    EXPECT_EQ(outcome.exit_code, kExitFailed);
    EXPECT_THAT(
        outcome.text,
        HasSubstr("--weights-and-bias-filename: " + file +
                  ": has weights of PyTorch, by its name (a model is made of them by: bazel "
                  "run //apps:import -- " +
                  file + " --model=simplemlp --final-activation=softmax OUT.safetensors)"));
  }
}

TEST(BenchmarkDataTest, FilesInFoldersThatAreNoImagesAreWarnedOfOnce) {
  const std::string root = NewFolder("thumbs");
  for (const char* folder : {"/train/a", "/train/b"}) {
    std::filesystem::create_directories(root + folder);
    WriteFile(root + folder, "Thumbs.db", Bytes{1, 2, 3});
    for (const char* name : {"1", "2", "3"}) {
      WriteFile(root + folder, name, testing::FlatJpeg(8, 8, {10, 20, 30}));
    }
  }
  const Outcome outcome =
      testing::Launch(kProgram, "--model=simplemlp --dataset=folder --dataset-path=" + root);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("benchmark: warning: 2 files are not JPEG or PNG images and are "
                        "skipped: " +
                        root + "/train/a/Thumbs.db and 1 more\n"));
}

}  // namespace
}  // namespace dtnn
