// RUN: frit-opt %s --merge-plans -verify-diagnostics

module {
  module @m {
    // expected-error@+1 {{has no main list of commands}}
    plan.program @p "sm_90a" attributes {} {
    }
  }
}
