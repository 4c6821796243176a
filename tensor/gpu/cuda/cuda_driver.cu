#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "tensor/errors.h"
#include "tensor/gpu/cuda/cuda_driver.h"

namespace dtnn::gpu {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorInvalidDevice:
      return absl::StatusCode::kNotFound;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
      return absl::StatusCode::kInvalidArgument;
    case cudaErrorIllegalState:
    case cudaErrorNotReady:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string Version(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

// What the user can do about it.
std::string AdviceOn(cudaError_t error) {
  if (error == cudaErrorStubLibrary) {
    return "; the toolkit's stub of libcuda.so was loaded instead of the driver's: take it off "
           "LD_LIBRARY_PATH";
  }
  if (error != cudaErrorInsufficientDriver) return "";
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return StrCat("; this machine has no NVIDIA driver; this program needs one for CUDA ",
                  Version(CUDART_VERSION));
  }
  return StrCat("; this program needs a driver for CUDA ", Version(CUDART_VERSION),
                ", the one here is for ", Version(driver), ": update it");
}

// Errors that are not sticky stay behind in the thread; this one has been reported.
absl::Status ToStatus(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();
  return absl::Status(CodeOf(error),
                      StrCat(call, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error),
                             ", ", int(error), ")", AdviceOn(error)));
}

// Call(arguments) as a Status that names the call.
#define DTNN_CUDA(call, ...) ToStatus(call(__VA_ARGS__), #call)

class CudaGpu;

class CudaEvent : public Event {
 public:
  CudaEvent(CudaGpu& gpu, Timing timing) : gpu_(gpu), timing_(timing) {}
  ~CudaEvent() override { (void)cudaEventDestroy(event_); }

  absl::Status Synchronize() override;
  absl::StatusOr<bool> Query() override;
  absl::StatusOr<double> SecondsSince(const Event& start) override;

 private:
  friend class CudaGpu;
  friend class CudaStream;

  absl::Status CheckRecorded(std::string_view what) const;

  CudaGpu& gpu_;
  const Timing timing_;
  cudaEvent_t event_ = nullptr;
  bool recorded_ = false;
};

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(cudaGraphExec_t graph) : graph_(graph) {}
  ~CudaGraph() override { (void)cudaGraphExecDestroy(graph_); }
  cudaGraphExec_t graph() const { return graph_; }

 private:
  cudaGraphExec_t graph_;
};

class CudaStream : public Stream {
 public:
  CudaStream(CudaGpu& gpu, std::string_view name);
  ~CudaStream() override {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  }

  absl::Status Record(Event& event) override;
  absl::Status Wait(const Event& event) override;
  absl::Status Synchronize() override;
  absl::StatusOr<bool> Query() override;
  absl::Status BeginCapture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  absl::Status Replay(Graph& graph) override;
  void* native() const override { return stream_; }

 private:
  friend class CudaGpu;

  absl::Status DoCopy(std::byte* to, const std::byte* from, size_t bytes) override;
  absl::Status DoFill(std::byte* to, uint8_t value, size_t bytes) override;
  absl::Status DoLaunch(const Kernel& kernel) override;
  absl::Status Named(const absl::Status& status) const;

  CudaGpu& gpu_;
  cudaStream_t stream_ = nullptr;
};

class CudaGpu : public Gpu {
 public:
  CudaGpu(int device, Properties properties)
      : Gpu(StrCat("cuda:", device), std::move(properties)), device_(device) {}

  // Makes this GPU the thread's: before every call.
  absl::Status Select() const { return DTNN_CUDA(cudaSetDevice, device_); }

  absl::StatusOr<MemoryInfo> Memory() override {
    DTNN_RETURN_IF_ERROR(Select());
    MemoryInfo info;
    DTNN_RETURN_IF_ERROR(Named(DTNN_CUDA(cudaMemGetInfo, &info.free_bytes, &info.total_bytes)));
    return info;
  }

  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string_view name) override {
    DTNN_RETURN_IF_ERROR(Select());
    auto stream = std::make_unique<CudaStream>(*this, name);
    DTNN_RETURN_IF_ERROR(
        Named(DTNN_CUDA(cudaStreamCreateWithFlags, &stream->stream_, cudaStreamNonBlocking)));
    return stream;
  }

  absl::StatusOr<std::unique_ptr<Event>> CreateEvent(Timing timing) override {
    DTNN_RETURN_IF_ERROR(Select());
    auto event = std::make_unique<CudaEvent>(*this, timing);
    const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
    DTNN_RETURN_IF_ERROR(Named(DTNN_CUDA(cudaEventCreateWithFlags, &event->event_, flags)));
    return event;
  }

  absl::Status Synchronize() override {
    DTNN_RETURN_IF_ERROR(Select());
    return Named(DTNN_CUDA(cudaDeviceSynchronize));
  }

  absl::Status Named(const absl::Status& status) const { return WithContext(status, name()); }

 private:
  absl::StatusOr<std::byte*> DoAllocate(size_t bytes, MemoryKind kind, std::string_view) override {
    DTNN_RETURN_IF_ERROR(Select());
    void* memory = nullptr;
    DTNN_RETURN_IF_ERROR(kind == MemoryKind::kDevice ? DTNN_CUDA(cudaMalloc, &memory, bytes)
                                                     : DTNN_CUDA(cudaMallocHost, &memory, bytes));
    return static_cast<std::byte*>(memory);
  }

  absl::Status DoFree(const Allocation& allocation) override {
    // cudaFreeHost does not say that it waits.
    DTNN_RETURN_IF_ERROR(Synchronize());
    return allocation.kind == MemoryKind::kDevice ? DTNN_CUDA(cudaFree, allocation.base)
                                                  : DTNN_CUDA(cudaFreeHost, allocation.base);
  }

  const int device_;
};

absl::Status CudaEvent::CheckRecorded(std::string_view what) const {
  if (recorded_) return absl::OkStatus();
  return FailedPrecondition(gpu_.name(), ": ", what, ": the event was never recorded");
}

absl::Status CudaEvent::Synchronize() {
  DTNN_RETURN_IF_ERROR(CheckRecorded("waiting for an event"));
  return gpu_.Named(DTNN_CUDA(cudaEventSynchronize, event_));
}

absl::StatusOr<bool> CudaEvent::Query() {
  DTNN_RETURN_IF_ERROR(CheckRecorded("querying an event"));
  const cudaError_t answer = cudaEventQuery(event_);
  if (answer == cudaErrorNotReady) return false;
  DTNN_RETURN_IF_ERROR(gpu_.Named(ToStatus(answer, "cudaEventQuery")));
  return true;
}

absl::StatusOr<double> CudaEvent::SecondsSince(const Event& start) {
  const auto& before = static_cast<const CudaEvent&>(start);
  const char* const what = "the time between two events";
  DTNN_RETURN_IF_ERROR(CheckRecorded(what));
  DTNN_RETURN_IF_ERROR(before.CheckRecorded(what));
  if (timing_ == Timing::kOff || before.timing_ == Timing::kOff) {
    return FailedPrecondition(gpu_.name(), ": ", what, ": one was made without timing");
  }
  float milliseconds = 0;
  DTNN_RETURN_IF_ERROR(
      gpu_.Named(DTNN_CUDA(cudaEventElapsedTime, &milliseconds, before.event_, event_)));
  return double(milliseconds) / 1000;
}

CudaStream::CudaStream(CudaGpu& gpu, std::string_view name) : Stream(gpu, name), gpu_(gpu) {}

absl::Status CudaStream::Named(const absl::Status& status) const {
  return WithContext(status, gpu_.name(), ", stream ", name());
}

absl::Status CudaStream::DoCopy(std::byte* to, const std::byte* from, size_t bytes) {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return DTNN_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, stream_);
}

absl::Status CudaStream::DoFill(std::byte* to, uint8_t value, size_t bytes) {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return DTNN_CUDA(cudaMemsetAsync, to, value, bytes, stream_);
}

absl::Status CudaStream::DoLaunch(const Kernel& kernel) {
  if (kernel.cuda_function == nullptr) {
    return FailedPrecondition(
        "it was not compiled for CUDA: its source has to be compiled by nvcc");
  }
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  void* arguments[] = {const_cast<void*>(kernel.arguments)};
  return DTNN_CUDA(cudaLaunchKernel, kernel.cuda_function,
                   dim3(kernel.grid.x, kernel.grid.y, kernel.grid.z),
                   dim3(kernel.block.x, kernel.block.y, kernel.block.z), arguments,
                   kernel.shared_bytes, stream_);
}

absl::Status CudaStream::Record(Event& event) {
  auto& recorded = static_cast<CudaEvent&>(event);
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  DTNN_RETURN_IF_ERROR(Named(DTNN_CUDA(cudaEventRecord, recorded.event_, stream_)));
  recorded.recorded_ = true;
  return absl::OkStatus();
}

absl::Status CudaStream::Wait(const Event& event) {
  const auto& recorded = static_cast<const CudaEvent&>(event);
  DTNN_RETURN_IF_ERROR(Named(recorded.CheckRecorded("waiting for an event")));
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return Named(DTNN_CUDA(cudaStreamWaitEvent, stream_, recorded.event_, 0));
}

absl::Status CudaStream::Synchronize() {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return Named(DTNN_CUDA(cudaStreamSynchronize, stream_));
}

absl::StatusOr<bool> CudaStream::Query() {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  const cudaError_t answer = cudaStreamQuery(stream_);
  if (answer == cudaErrorNotReady) return false;
  DTNN_RETURN_IF_ERROR(Named(ToStatus(answer, "cudaStreamQuery")));
  return true;
}

absl::Status CudaStream::BeginCapture() {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return Named(DTNN_CUDA(cudaStreamBeginCapture, stream_, cudaStreamCaptureModeThreadLocal));
}

absl::StatusOr<std::unique_ptr<Graph>> CudaStream::EndCapture() {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  cudaGraph_t captured = nullptr;
  DTNN_RETURN_IF_ERROR(Named(DTNN_CUDA(cudaStreamEndCapture, stream_, &captured)));
  cudaGraphExec_t graph = nullptr;
  const absl::Status status = Named(DTNN_CUDA(cudaGraphInstantiate, &graph, captured, 0));
  (void)cudaGraphDestroy(captured);
  DTNN_RETURN_IF_ERROR(status);
  return std::make_unique<CudaGraph>(graph);
}

absl::Status CudaStream::Replay(Graph& graph) {
  DTNN_RETURN_IF_ERROR(gpu_.Select());
  return Named(DTNN_CUDA(cudaGraphLaunch, static_cast<CudaGraph&>(graph).graph(), stream_));
}

class CudaDriver : public Driver {
 public:
  absl::StatusOr<int> DeviceCount() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorNoDevice) {
      (void)cudaGetLastError();
      return 0;
    }
    DTNN_RETURN_IF_ERROR(ToStatus(error, "cudaGetDeviceCount"));
    return count;
  }

  absl::StatusOr<Properties> PropertiesOf(int device) override {
    DTNN_ASSIGN_OR_RETURN(const int count, DeviceCount());
    DTNN_RETURN_IF_ERROR(CheckDevice("cuda", device, count));
    cudaDeviceProp found;
    DTNN_RETURN_IF_ERROR(DTNN_CUDA(cudaGetDeviceProperties, &found, device));
    const auto dim = [](const int* size) {
      return Dim3{uint32_t(size[0]), uint32_t(size[1]), uint32_t(size[2])};
    };
    // The place on the host's bus: the number of a device depends on CUDA_VISIBLE_DEVICES.
    const int64_t bus = int64_t{found.pciDomainID} << 16 | found.pciBusID << 8 | found.pciDeviceID;
    return Properties{.name = found.name,
                      .hardware = bus,
                      .capability = found.major * 10 + found.minor,
                      .multiprocessors = found.multiProcessorCount,
                      .memory_bytes = found.totalGlobalMem,
                      .threads_per_block = uint32_t(found.maxThreadsPerBlock),
                      .largest_block = dim(found.maxThreadsDim),
                      .largest_grid = dim(found.maxGridSize),
                      .shared_bytes_per_block = found.sharedMemPerBlock};
  }

  absl::StatusOr<std::unique_ptr<Gpu>> Open(int device) override {
    DTNN_ASSIGN_OR_RETURN(Properties properties, PropertiesOf(device));
    auto gpu = std::make_unique<CudaGpu>(device, std::move(properties));
    DTNN_RETURN_IF_ERROR(gpu->Select());
    return gpu;
  }
};

}  // namespace

std::unique_ptr<Driver> CreateCudaDriver() { return std::make_unique<CudaDriver>(); }

}  // namespace dtnn::gpu
