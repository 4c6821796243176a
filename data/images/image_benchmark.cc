// Decoding and reading of image files: what a training run on them can be fed with.
//   BM_DecodeImage/<format>/<shape>       one file from memory; MB/s of decoded bytes
//   BM_ReadFolder/threads<n>              500 x 375 JPEG files from disk, decoded and resized to
//                                         224 x 224, by n threads; samples/s

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "data/datasets/folder.h"
#include "data/images/image.h"
#include "data/testing/image_files.h"

namespace dtnn {
namespace {

constexpr int kHeight = 375, kWidth = 500;

// Like a photograph in size: about 60 kB.
std::vector<uint8_t> Photograph(bool png, int seed = 0) {
  const std::vector<uint8_t> pixels = testing::SmoothPixels(kHeight, kWidth, 3, seed);
  return png ? testing::EncodePng(kHeight, kWidth, pixels)
             : testing::EncodeJpeg(kHeight, kWidth, pixels, {.quality = 60});
}

void BM_DecodeImage(benchmark::State& state, bool png) {
  const std::vector<uint8_t> file = Photograph(png);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeImage(file, "file"));
  state.SetBytesProcessed(state.iterations() * kHeight * kWidth * 3);
}
BENCHMARK_CAPTURE(BM_DecodeImage, jpeg, false)->Name("BM_DecodeImage/jpeg/h375w500c3");
BENCHMARK_CAPTURE(BM_DecodeImage, png, true)->Name("BM_DecodeImage/png/h375w500c3");

std::string MakeFolder(int files) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / "dtnn_image_benchmark";
  std::filesystem::create_directories(root / "train" / "a");
  for (int i = 0; i < files; ++i) {
    const std::vector<uint8_t> bytes = Photograph(false, i);
    std::ofstream file(root / "train" / "a" / (std::to_string(i) + ".jpg"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }
  return root.string();
}

void BM_ReadFolder(benchmark::State& state) {
  constexpr int64_t kFiles = 16;
  static const std::string root = MakeFolder(kFiles);
  const auto folder = OpenFolder({.train = root, .geometry = {.resize = 224}}).value();
  const int threads = int(state.range(0));
  const auto read = [&](int64_t begin, int64_t end) {
    const Tensor x =
        Tensor::Allocate(Device::Cpu(), DType::kFloat32, Shape{1, 224, 224, 3}).value();
    const Tensor targets = Tensor::Allocate(Device::Cpu(), DType::kInt32, Shape{1}).value();
    for (int64_t i = begin; i < end; ++i) {
      if (!folder->Read(Split::kTrain, std::span(&i, 1), TensorFormat::kNHWC, x, targets).ok()) {
        std::abort();
      }
    }
  };
  for (auto _ : state) {
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back(read, kFiles * i / threads, kFiles * (i + 1) / threads);
    }
    for (std::thread& worker : workers) worker.join();
  }
  state.SetItemsProcessed(state.iterations() * kFiles);
}
BENCHMARK(BM_ReadFolder)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace dtnn
