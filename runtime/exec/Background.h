//===- Background.h - Run work on another thread --------------------------===//

#ifndef FRIT_RUNTIME_EXEC_BACKGROUND_H
#define FRIT_RUNTIME_EXEC_BACKGROUND_H

#include <functional>
#include <pthread.h>
#include <utility>

namespace frit {

/// Runs `work` on a new thread, or in the constructor if no thread can be
/// created. The destructor waits for it.
class Background {
public:
  explicit Background(std::function<void()> work) : work(std::move(work)) {
    started = pthread_create(&thread, nullptr, main, this) == 0;
    if (!started)
      this->work();
  }
  Background(const Background &) = delete;
  ~Background() { join(); }

  void join() {
    if (started)
      pthread_join(thread, nullptr);
    started = false;
  }

private:
  static void *main(void *self) {
    static_cast<Background *>(self)->work();
    return nullptr;
  }

  std::function<void()> work;
  pthread_t thread;
  bool started = false;
};

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_BACKGROUND_H
