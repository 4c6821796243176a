#include "bench/gpu_software.h"

#include <dlfcn.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "kernels/libraries/library_version.h"
#include "tensor/gpu/open_gpus.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// A function of the libraries that this program is linked with, or null.
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string VersionOf(const char* function, int64_t major_step, int64_t minor_step) {
  auto* const version = Find<size_t()>(function);
  return version == nullptr
             ? ""
             : LibraryVersion::Of(int64_t(version()), major_step, minor_step).ToString();
}

std::string CudaVersion() {
  auto* const version = Find<int(int*)>("cudaRuntimeGetVersion");
  int number = 0;
  if (version == nullptr || version(&number) != 0) return "";
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
std::string DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  std::istringstream words(line);
  while (words >> word) {
    if (word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos) {
      return word;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<GpuSoftware> DescribeGpu(Device device) {
  DTNN_ASSIGN_OR_RETURN(gpu::Gpu* const gpu, gpu::OpenGpu(device));
  GpuSoftware software;
  software.card = gpu->properties().name;
  if (device.type == DeviceType::kSimulated) return software;
  software.driver = DriverVersion();
  software.cuda = CudaVersion();
  software.cudnn = VersionOf("cudnnGetVersion", 10000, 100);
  software.cublaslt = VersionOf("cublasLtGetVersion", 10000, 100);
  return software;
}

}  // namespace dtnn
