#include "apps/monitor/process_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tensor/machine/resident_memory.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

int64_t ResidentBytesNow() {
  const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (statm < 0) return 0;
  const int64_t bytes = ResidentBytes(statm);
  close(statm);
  return bytes;
}

double Seconds(const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

}  // namespace

void AddProcess(MetricsText& text) {
  text.One("process_resident_memory_bytes", "gauge", "Memory in use, in bytes.",
           ResidentBytesNow());
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  text.One("process_cpu_seconds_total", "counter", "Processor time, of all threads, in seconds.",
           Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  text.Family("dtnn_build_info", "gauge", "1, with the version of DTNN.");
  text.Add({{"version", Version()}}, int64_t{1});
}

}  // namespace dtnn
