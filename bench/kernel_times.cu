#include "bench/kernel_times.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#endif

namespace dtnn {

#if __has_include(<cupti.h>)

namespace {

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr size_t kBufferBytes = 8 << 20;

// CUPTI's functions, as far as they are needed; and what its callbacks, which have no argument of
// ours, have collected.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiGetResultString) text = nullptr;

  std::mutex mutex;
  std::vector<KernelTimes::Record> records;
};

Cupti& Library() {
  static Cupti& library = *new Cupti;
  return library;
}

absl::Status Load() {
  // As CUDA 13 calls it; an older one's records may have another layout.
  constexpr char kName[] = "libcupti.so.13";
  void* const handle = dlopen(kName, RTLD_NOW);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "times of kernels need ", kName,
        ", of the toolkit or of Python's nvidia-cuda-cupti, on LD_LIBRARY_PATH: ", dlerror()));
  }
  Cupti& cupti = Library();
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  if (find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks") &&
      find(cupti.enable, "cuptiActivityEnable") && find(cupti.disable, "cuptiActivityDisable") &&
      find(cupti.flush, "cuptiActivityFlushAll") &&
      find(cupti.next, "cuptiActivityGetNextRecord") && find(cupti.text, "cuptiGetResultString")) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(kName, " lacks a function: ", dlerror()));
}

absl::Status Checked(const char* what, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* text = nullptr;
  Library().text(result, &text);
  return absl::InternalError(absl::StrCat(what, ": CUPTI says ", text == nullptr ? "error" : text,
                                          " (", int(result), ")"));
}

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t bytes) {
  Cupti& cupti = Library();
  const std::lock_guard lock(cupti.mutex);
  const auto add = [&](const char* name, uint64_t start, uint64_t end) {
    cupti.records.push_back(
        {name == nullptr ? "?" : name, double(start) * 1e-9, double(end) * 1e-9});
  };
  for (CUpti_Activity* record = nullptr; cupti.next(buffer, bytes, &record) == CUPTI_SUCCESS;) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      add(kernel.name, kernel.start, kernel.end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      add("copy", copy.start, copy.end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& fill = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      add("fill", fill.start, fill.end);
    }
  }
  std::free(buffer);
}

class CuptiTimes final : public KernelTimes {
 public:
  ~CuptiTimes() override {
    for (const CUpti_ActivityKind kind : kKinds) Library().disable(kind);
    (void)Take();
  }

  absl::StatusOr<std::vector<Record>> Take() override {
    Cupti& cupti = Library();
    const absl::Status status =
        Checked("reading records", cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    if (!status.ok()) return status;
    const std::lock_guard lock(cupti.mutex);
    std::vector<Record> records = std::exchange(cupti.records, {});
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.start < b.start; });
    return records;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<KernelTimes>> KernelTimes::Start() {
  const absl::Status loaded = Load();
  if (!loaded.ok()) return loaded;
  const absl::Status registered =
      Checked("starting", Library().register_callbacks(GiveBuffer, TakeBuffer));
  if (!registered.ok()) return registered;
  for (const CUpti_ActivityKind kind : kKinds) {
    const absl::Status enabled = Checked("starting", Library().enable(kind));
    if (!enabled.ok()) return enabled;
  }
  return std::make_unique<CuptiTimes>();
}

#else

absl::StatusOr<std::unique_ptr<KernelTimes>> KernelTimes::Start() {
  return absl::UnimplementedError("the toolkit of this build had no cupti.h");
}

#endif

}  // namespace dtnn
