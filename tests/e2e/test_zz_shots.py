from tests.e2e.test_live_desk import *
from tests.e2e.test_live_desk import desk, server
def test_shots(server, desk):
    for scheme, w in (("light",390),("dark",1280)):
        with opened(server, desk, queue()) as page:
            page.set_viewport_size({"width": w, "height": 700}); page.emulate_media(color_scheme=scheme)
            elsewhere(lambda: propose(desk, "prp_a"+scheme, "one", "1"))
            expect(page.locator(NOTE)).to_contain_text("1 new")
            page.wait_for_timeout(300)
            page.screenshot(path=f"/tmp/shots/q{scheme}.png")
            print(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
            page.goto(server.url+desk.page("prp_first")); expect(page.locator(STATE)).to_have_text("Live")
            v = elsewhere(lambda: desk.door().artifact("art_paper").version)
            elsewhere(lambda: desk.door("ben").commit(edit_text("art_paper", v, "three", "three.")))
            expect(page.locator(NOTE)).to_contain_text("Ben has")
            page.evaluate("scrollTo(0, 400)"); page.wait_for_timeout(300)
            page.screenshot(path=f"/tmp/shots/d{scheme}.png")
            page.goto(server.url+reverse("admin:artifactr_event_changelist")); expect(page.locator(STATE)).to_have_text("Live")
            elsewhere(lambda: propose2(desk, scheme))
            expect(page.locator(NOTE)).to_contain_text("1 new")
            page.wait_for_timeout(300)
            page.screenshot(path=f"/tmp/shots/l{scheme}.png")
            print(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
def propose2(desk, s):
    from artifacts.core import CreateThread
    desk.door().commit(CreateThread(title=s))
